# SPDX-License-Identifier: Apache-2.0
"""Traces and findings in the formats of other tools: each format has its own file."""
