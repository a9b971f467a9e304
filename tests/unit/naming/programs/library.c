// SPDX-License-Identifier: Apache-2.0
int library_counts[64];
static long hidden[32];

long* library_hidden(void) {
    return hidden;
}
