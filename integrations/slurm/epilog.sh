#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# An epilog of Slurm: frees the page cache that the job has left behind, if it fills a NUMA node so
# that an equally large job would not be local. Never drains the node.
here=${0%/*}
. "$here/numascape-job.sh"

job_memory || exit 0
check "$bytes_per_node" "$job_nodes"
[ $? -eq 1 ] || exit 0
log "job $SLURM_JOB_ID has left page cache; dropping it"
"$NUMASCAPE" host drop >/dev/null 2>&1 || log "cannot drop caches: status $?"
exit 0
