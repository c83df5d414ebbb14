"""`python -m workbench.machine > target.json` describes a machine for `wb.check`."""

from workbench.artifacts.machine.machine_description import described_machine

if __name__ == "__main__":
    print(described_machine())
