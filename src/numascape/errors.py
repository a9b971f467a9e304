# SPDX-License-Identifier: Apache-2.0
"""The one exception that Numascape raises for errors that its user can fix."""


class NumascapeError(Exception):
    """An error that the user can fix: one line that says what is wrong, where, and what to do.

    The command line prints the line and exits with `exit_code`; in Python it is an exception like
    any other.
    """

    exit_code = 2
