# SPDX-License-Identifier: Apache-2.0
"""`python -m numascape` is the command `numascape`."""

from numascape.cli.start import main

# Workers of an engine import this module under another name, and must not run the command.
if __name__ == "__main__":
    main()
