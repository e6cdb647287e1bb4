#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What threads gain, from files that `cmx infer run --blocks` wrote: blocks.THREADS.ROUND."""
import heapq
import os
import sys

PHASES = "prompt", "output"


class Run:
    """One run: its phases' ticks, its launches in order, and what lies between its blocks."""

    def __init__(self, path):
        self.phases, blocks = {}, []
        with open(path) as f:
            for line in f:
                w = line.split()
                if w[0] == "phase":
                    self.phases[w[1]] = int(w[2])
                else:
                    blocks.append((int(w[6]), w[1], w[2], int(w[3]), int(w[4]), int(w[7])))
        blocks.sort()
        self.launches, at = [], 0
        while at < len(blocks):
            _, phase, kernel, _, grid, _ = blocks[at]
            mine = blocks[at:at + grid]
            ticks = {b[3]: b[5] for b in mine}
            if sorted(ticks) != list(range(grid)) or {b[2] for b in mine} != {kernel}:
                sys.exit("%s: a launch of %s is not whole" % (path, kernel))
            at += grid
            # What is done when all blocks are done has the number behind theirs.
            end = at < len(blocks) and blocks[at][2] == kernel and blocks[at][3] == grid
            self.launches.append((phase, kernel, [ticks[i] for i in range(grid)] +
                                  [blocks[at][5] if end else 0]))
            at += end
        self.gaps = {p: self.between(blocks, p) for p in PHASES}

    def between(self, blocks, phase):
        """From the phase's begin to its first block, from each to the next, and to its end."""
        now = self.phases["prompt"] if phase == "output" else 0
        end, gaps = now + self.phases[phase], []
        for start, p, _, _, _, ticks in blocks:
            if p == phase:
                gaps.append(start - now)
                now = start + ticks
        return gaps + [end - now]


def least_blocks(runs):
    """
    Of all runs that cut a launch alike, whatever their threads: the least ticks of each block.
    They do the same, and what else ran on the processor drops out.
    """
    every = [r for same in runs.values() for r in same]
    if len({tuple((p, k) for p, k, _ in r.launches) for r in every}) != 1:
        sys.exit("the runs did not do the same")
    best = {}
    for r in every:
        for i, (_, _, ticks) in enumerate(r.launches):
            old = best.get((i, len(ticks)), ticks)
            best[i, len(ticks)] = [min(t) for t in zip(old, ticks)]
    return {n: [(p, k, best[i, len(t)]) for i, (p, k, t) in enumerate(same[0].launches)]
            for n, same in runs.items()}


def makespan(ticks, threads):
    """Blocks go in order to the first thread that is free; then comes the end."""
    free = [0] * threads
    for t in ticks[:-1]:
        heapq.heappush(free, heapq.heappop(free) + t)
    return max(free) + ticks[-1]


def main():
    name, paths = sys.argv[1], sys.argv[2:]
    runs = {}
    for path in paths:
        runs.setdefault(int(os.path.basename(path).split(".")[1]), []).append(Run(path))
    parallel = len(os.sched_getaffinity(0)) > 1
    launches = least_blocks(runs)
    for phase in PHASES:
        outside = sum(min(gap) for gap in zip(*(r.gaps[phase] for r in runs[1])))
        wall = {n: min(r.phases[phase] for r in same) for n, same in runs.items()}
        for n in sorted(runs):
            mine = [t for p, _, t in launches[n] if p == phase]
            work, longest = sum(map(sum, mine)), sum(makespan(t, len(t)) for t in mine)
            span = sum(makespan(t, n) for t in mine)
            if n == 1:
                one = work
            print("%-14s %-7s %7d %6.2f %8.2f %7.1f%% %7.1f%% %8.2f %6.2f %s" % (
                name, phase, n, work / one, span * n / work, 100 * longest / work,
                100 * outside / (one + outside), one / span,
                (one + outside) / (span + outside),
                "%6.2f" % (wall[1] / wall[n]) if parallel else "     -"))


main()
