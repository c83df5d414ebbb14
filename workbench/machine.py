"""`python -m workbench.machine > target.json` describes a machine for `wb.check`."""

from workbench.artifacts.machine.machine_description import describe_machine

if __name__ == "__main__":
    print(describe_machine())
