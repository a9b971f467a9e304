# SPDX-License-Identifier: Apache-2.0
"""Serves the report on this machine, with details down to single pages on demand."""
