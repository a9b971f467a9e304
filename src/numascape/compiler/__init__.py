# SPDX-License-Identifier: Apache-2.0
"""The compilers for the compiled recorder: clang and flang with our pass."""
