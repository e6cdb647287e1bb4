# SPDX-License-Identifier: GPL-2.0-only
"""look.py WHAT TRACE CQES: compares a trace with what the program's completions said."""
import json
import sys

FLUSHED = 13


def ps(event, key):
    """Microseconds as text with six decimals: exact."""
    whole, part = event[key].split('.')
    return int(whole) * 1000000 + int(part.ljust(6, '0'))


def load(path):
    with open(path) as f:
        return json.load(f, parse_float=str)


def completions(path):
    with open(path) as f:
        rows = [[int(word) for word in line.split()] for line in f]
    return [row for row in rows if row[3] != FLUSHED]


def of(trace, phase, cat=None):
    return [e for e in trace['traceEvents'] if e['ph'] == phase and cat in (None, e.get('cat'))]


def names(trace, kind):
    return {(e['pid'], e['tid']): e['args']['name'] for e in of(trace, 'M') if e['name'] == kind}


def by_ctx(trace):
    slices = {}
    for e in of(trace, 'X', 'command'):
        ctx = int(e['args']['user_ctx'], 16)
        assert ctx not in slices, 'two slices of command %d' % ctx
        slices[ctx] = e
    return slices


def commands(trace, rows):
    """Every completion has its slice, on a track of its queue, with its end."""
    slices, threads = by_ctx(trace), names(trace, 'thread_name')
    assert len(slices) == len(rows), '%d slices, %d completions' % (len(slices), len(rows))
    for queue, ctx, _, status, time in rows:
        e = slices[ctx]
        assert e['args']['status'] == status, 'status of %d' % ctx
        assert ('queue %d of' % queue) in threads[e['pid'], e['tid']], 'track of %d' % ctx
        end = ps(e, 'ts') + ps(e, 'dur')
        assert end == time, 'command %d ends at %d, its completion says %d' % (ctx, end, time)


def tracks(trace, _):
    """No two slices of a track at a time, and each track and process has a name."""
    threads, processes, last = names(trace, 'thread_name'), names(trace, 'process_name'), {}
    for e in sorted(of(trace, 'X'), key=lambda e: (ps(e, 'ts'), ps(e, 'dur'))):
        key = e['pid'], e['tid']
        assert key in threads and (e['pid'], 0) in processes, 'no name for %s' % (key,)
        assert ps(e, 'ts') >= last.get(key, 0), 'overlap on %s at %s' % (threads[key], e['ts'])
        last[key] = ps(e, 'ts') + ps(e, 'dur')


def inside(trace, flow, cat):
    """Slices of the flow's track that have its time."""
    return [e for e in of(trace, 'X', cat) if (e['pid'], e['tid']) == (flow['pid'], flow['tid']) and
            ps(e, 'ts') <= ps(flow, 'ts') <= ps(e, 'ts') + ps(e, 'dur')]


def flows(trace, _):
    """Arrows come in pairs, from a command's slice to the arrival of its bytes."""
    starts = {e['id']: e for e in of(trace, 's')}
    ends = {e['id']: e for e in of(trace, 'f')}
    assert starts and starts.keys() == ends.keys(), 'flows are not paired'
    assert len(starts) == len(of(trace, 's')) == len(of(trace, 'f')), 'an id is used twice'
    assert len(starts) == len(of(trace, 'X', 'arrival')), 'arrivals without an arrow'
    for key, start in starts.items():
        assert inside(trace, start, 'command'), 'flow %d starts nowhere' % key
        arrivals = inside(trace, ends[key], 'arrival')
        assert [a for a in arrivals if ps(a, 'ts') == ps(ends[key], 'ts')], 'flow %d ends nowhere' % key


def ends(trace, _):
    """Bytes of reads come to die 0, those of writes, copies and records to die 3."""
    processes, threads = names(trace, 'process_name'), names(trace, 'thread_name')
    came = {}
    for e in of(trace, 'X', 'arrival'):
        assert threads[e['pid'], e['tid']].startswith('arrivals'), 'track'
        key = e['name'], processes[e['pid'], 0]
        came[key] = came.get(key, 0) + e['args']['bytes']
    # A read and the old value of an atomic; copies, a write, a record and a signal.
    want = {('from die 3', 'die 0'): 4096 + 8,
            ('from die 0', 'die 3'): 512 * 1024 + 8 * 65536 + 4096 + 65536 + 8}
    assert came == want, '%s' % came


def waits(trace, rows):
    """What satisfied each wait, and that it did so at the wait's end."""
    done = {ctx: time for _, ctx, _, _, time in rows}
    slices = by_ctx(trace)
    first, signal = slices[1], slices[4]
    assert first['name'] == 'WAIT' and signal['name'] == 'SIGNAL'
    assert first['args']['by'].startswith('SIGNAL on die 0, queue '), first['args']
    assert first['args']['by'].endswith('entry %d' % signal['args']['entry']), first['args']
    assert first['args']['value'] == '0x1' and done[1] == done[4]
    others = [e for e in slices.values() if e['name'] == 'WAIT' and e is not first]
    assert [e['args']['by'] for e in others] == ['host'], others


def instants(trace, rows):
    """Each command was fetched, each queue had a doorbell, one went to the error state."""
    marks = [e['name'] for e in of(trace, 'i')]
    assert marks.count('fetch') == len(rows), marks
    assert marks.count('doorbell') >= len({row[0] for row in rows}), marks
    assert marks.count('queue error') == 1, marks


def host(trace, rows):
    """The host's clock: every command began before it ended, in the order they ended in."""
    slices = by_ctx(trace)
    assert trace['otherData']['clock'] == 'host'
    assert sorted(slices) == sorted(row[1] for row in rows)
    finish = [ps(slices[row[1]], 'ts') + ps(slices[row[1]], 'dur') for row in rows]
    assert finish == sorted(finish) and finish[-1] > 0, finish
    assert not of(trace, 's') and not of(trace, 'X', 'arrival')


def lost(trace, _):
    assert trace['otherData']['lost'] > 0, trace['otherData']


def main():
    what, trace, cqes = sys.argv[1:]
    globals()[what](load(trace), completions(cqes))


main()
