# SPDX-License-Identifier: Apache-2.0
"""A trace in the terminal: tables, and a strip of characters per structure."""
