# SPDX-License-Identifier: Apache-2.0
"""A recording in progress: its folder, its options, and how it ended."""
