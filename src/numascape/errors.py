# SPDX-License-Identifier: Apache-2.0
"""The one error that Numascape raises for mistakes and circumstances of its user."""


class NumascapeError(Exception):
    """Something that the user can mend: one line that says what, where, and what to do.

    The command line prints the line and exits with `exit_code`; in Python it is an exception like
    any other.
    """

    exit_code = 2
