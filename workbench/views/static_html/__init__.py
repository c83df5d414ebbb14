"""Any document as HTML for where no script runs: GitHub, an untrusted notebook, mail."""
