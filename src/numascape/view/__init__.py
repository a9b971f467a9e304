# SPDX-License-Identifier: Apache-2.0
"""The report served on this machine: the same page, with single pages of the trace on demand."""
