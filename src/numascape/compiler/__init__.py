# SPDX-License-Identifier: Apache-2.0
"""The compilers whose programs the compiled recorder records: clang and flang with our pass."""
