# SPDX-License-Identifier: Apache-2.0
"""The verbs of the command line: one file and one function of its name for each.

A verb parses its options, calls the library, and prints. Its docstring is its help text, which ends
with an example. _options.py has the options that several verbs share.
"""
