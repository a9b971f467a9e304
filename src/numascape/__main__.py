# SPDX-License-Identifier: Apache-2.0
"""`python -m numascape` is the command `numascape`."""

from numascape.cli.entry import main

main()
