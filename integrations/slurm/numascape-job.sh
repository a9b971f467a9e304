# SPDX-License-Identifier: Apache-2.0
#
# The scripts beside this file read it. `numascape host check` ends with 0 if all memory would be
# local, with 1 if not, and with 2 if it is not known. The shell returns 126 or 127 if it cannot
# start the command.
NUMASCAPE=numascape
ON_REMOTE=drain
TIMEOUT=30
NODES=job
LOGGER=logger
[ -r "$here/numascape.conf" ] && . "$here/numascape.conf"

log() {
    case $LOGGER in
        logger) logger -t numascape -- "$*" 2>/dev/null ;;
        *) echo "$(date '+%F %T') numascape: $*" >>"$LOGGER" ;;
    esac
}

# The job's memory on the NUMA nodes of its CPUs: these nodes, such as 0,1, in $job_nodes, and the
# bytes on each of them in $bytes_per_node. $job_nodes is empty if the job's CPUs are not known; the
# bytes are then those on each node that has CPUs. Fails if the amount is not known.
job_memory() {
    # One question to the controller: slurmd tells a prolog neither memory nor CPUs.
    job=$(scontrol -o -d show job "$SLURM_JOB_ID" 2>/dev/null)
    mebibytes=${SLURM_MEM_PER_NODE:-$(asked_mebibytes)}
    case $mebibytes in
        # A job that asks for all memory of its node (0) has no amount that could be checked.
        '' | *[!0-9]* | 0) log "job $SLURM_JOB_ID has no memory limit: nothing is checked"; return 1 ;;
    esac
    bytes=$((mebibytes * 1048576))
    job_nodes= bytes_per_node=
    [ "$NODES" = all ] || divide_by_cpus
    [ -n "$bytes_per_node" ] || bytes_per_node=$((bytes / $(nodes_with_cpus | wc -l)))
}

# The memory that $job has asked for, in MiB; nothing if it has no limit.
asked_mebibytes() {
    per_node=$(echo "$job" | sed -n 's/.* MinMemoryNode=\([0-9.]*[KMGT]\{0,1\}\) .*/\1/p')
    per_cpu=$(echo "$job" | sed -n 's/.* MinMemoryCPU=\([0-9.]*[KMGT]\{0,1\}\) .*/\1/p')
    cpus=$(echo "$job" | sed -n 's/.* NumCPUs=\([0-9]*\) .*/\1/p')
    hosts=$(echo "$job" | sed -n 's/.* NumNodes=\([0-9]*\)[- ].*/\1/p')
    if [ -n "$per_node" ]; then
        in_mebibytes "$per_node" 1 1
    elif [ -n "$per_cpu" ]; then
        in_mebibytes "$per_cpu" "${cpus:-1}" "${hosts:-1}"
    fi
}

# Slurm's 4G or 500M (the default unit), times $2 over $3, in whole MiB.
in_mebibytes() {
    echo "$1 $2 $3" | awk '{
        factor["K"] = 1 / 1024; factor["M"] = 1; factor["G"] = 1024; factor["T"] = 1048576
        unit = substr($1, length($1)); number = $1 + 0
        if (!(unit in factor)) unit = "M"
        printf "%d\n", number * factor[unit] * $2 / $3
    }'
}

# This host's NUMA nodes that have CPUs, in the order in which Slurm numbers CPUs: by socket, then by
# the nodes of the socket. Lines of "node CPUs".
nodes_with_cpus() {
    system=${NUMASCAPE_SYS:-/sys}/devices/system
    for folder in "$system"/node/node[0-9]*; do
        cpus=$(cat "$folder/cpulist" 2>/dev/null)
        [ -n "$cpus" ] || continue
        first=${cpus%%[-,]*}
        socket=$(cat "$system/cpu/cpu$first/topology/core_siblings_list" 2>/dev/null || echo 0)
        echo "${socket%%[-,]*} $first ${folder##*/node} $cpus"
    done | sort -n -k 1,1 -k 2,2 | awk '{
        count = 0; ranges = split($4, range, ",")
        for (i = 1; i <= ranges; i++) count += split(range[i], end, "-") < 2 ? 1 : end[2] - end[1] + 1
        print $3, count
    } END { if (!NR) print 0, 1 }'
}

# The CPUs of $job on this host, in Slurm's numbers, such as 0-7,16; nothing if they are not known.
job_cpus() {
    echo "$job" | tr ' ' '\n' | sed -n 's/^Nodes=//p; s/^CPU_IDs=//p' | paste -d ' ' - - |
        while read -r hosts cpus; do
            if scontrol show hostnames "$hosts" 2>/dev/null | grep -qx "$SLURMD_NODENAME"; then
                echo "$cpus"
            fi
        done
}

# Sets $job_nodes and $bytes_per_node: $bytes in proportion to the job's CPUs on each node. Slurm
# counts CPUs from 0, socket by socket, whatever their numbers in Linux; its total may be smaller,
# for example if it counts cores.
divide_by_cpus() {
    cpus=$(job_cpus)
    total=$(scontrol -o show node "$SLURMD_NODENAME" 2>/dev/null |
        sed -n 's/.* CPUTot=\([0-9]*\) .*/\1/p')
    [ -n "$cpus" ] && [ "${total:-0}" -gt 0 ] || return 0
    divided=$(nodes_with_cpus | awk -v cpus="$cpus" -v total="$total" -v bytes="$bytes" '
        { node[NR] = $1; all += $2; last[NR] = all }
        END {
            ranges = split(cpus, range, ",")
            for (r = 1; r <= ranges; r++) {
                both = split(range[r], end, "-")
                for (cpu = end[1] + 0; cpu <= end[both] + 0; cpu++) {
                    place = 1
                    while (place < NR && int(cpu * all / total) >= last[place]) place++
                    used[place]++; sum++
                }
            }
            for (i = 1; i <= NR; i++)
                if (used[i]) printf "%d %.0f\n", node[i], int(bytes * used[i] / sum)
        }' | sort -n)
    job_nodes=$(echo "$divided" | cut -d ' ' -f 1 | paste -s -d , -)
    bytes_per_node=$(echo "$divided" | cut -d ' ' -f 2 | paste -s -d , -)
}

# Checks for $1 bytes, on the nodes $2 if they are given. Returns 0, 1, or 2 for "not known", which
# is logged; $answer has the output.
check() {
    answer=$(timeout "$TIMEOUT" "$NUMASCAPE" host check --bytes-per-node "$1" \
        ${2:+--nodes "$2"} 2>&1)
    status=$?
    case $status in
        0 | 1) return $status ;;
        127) log "$NUMASCAPE is not installed on this node: nothing is checked" ;;
        124) log "the check took more than $TIMEOUT s: nothing is checked" ;;
        *) log "the check failed with status $status: $(echo "$answer" | tail -n 1)" ;;
    esac
    return 2
}
