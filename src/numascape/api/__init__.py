# SPDX-License-Identifier: Apache-2.0
"""The interface of `import numascape`: recording a program, and everything about its trace."""
