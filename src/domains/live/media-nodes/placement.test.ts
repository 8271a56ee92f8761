import { beforeEach, expect, test } from 'vitest'
import type { MediaNodeStatus, StreamStatus } from '../../../../media/types.ts'
import { InProcessCoordination } from '../../../coordination/in-process.ts'
import { ManualClock, MINUTE, SECOND } from '../../../core/clock.ts'
import { createLog } from '../../../core/log.ts'
import { MediaDirectory } from './media-directory.ts'
import { Placement } from './placement.ts'

let clock: ManualClock
let media: MediaDirectory
let placement: Placement

beforeEach(() => {
  clock = new ManualClock()
  media = new MediaDirectory(clock, new InProcessCoordination(createLog({ level: 'silent' })))
  placement = new Placement(media, clock, 'rtmp://all.example.com/live')
})

function report(
  nodeId: string,
  ingests: number,
  { cpu = 0, mostStreams = 10, ingestUrl = `rtmp://${nodeId}/live` } = {},
) {
  const streams = Array.from({ length: ingests }, () => ({ ingest: {} }) as StreamStatus)
  const status = { cpu, streams } as unknown as MediaNodeStatus
  media.announce({ nodeId, status, mostStreams, ingestUrl })
}

test('chooses the least loaded node by streams or CPU, and keeps a placed stream on its node', () => {
  report('a', 5)
  report('b', 3)
  report('c', 1, { cpu: 0.7 })
  expect(placement.choose('one', null)).toBe('b')
  expect(placement.choose('two', 'a')).toBe('a')
  expect(placement.urlOf('a')).toBe('rtmp://a/live')
})

test('spreads a burst of streams before publishers connect, and drops placements without a publisher', () => {
  report('a', 0)
  report('b', 0)
  const chosen = Array.from({ length: 10 }, (_, index) => placement.choose(`stream-${index}`, null))
  expect(chosen.filter((node) => node === 'a')).toHaveLength(5)
  for (let index = 0; index < 10; index += 1) placement.choose(`more-${index}`, null)
  expect(placement.choose('too many', null)).toBeNull()
  clock.advance(MINUTE)
  report('a', 9)
  expect(placement.choose('late', null)).toBe('a')
})

test('does not choose full, busy, unavailable or silent nodes', () => {
  report('full', 10)
  report('busy', 0, { cpu: 0.9 })
  media.announce({ nodeId: 'down', status: null })
  report('silent', 0)
  clock.advance(6 * SECOND)
  report('full', 10)
  report('busy', 0, { cpu: 0.9 })
  expect(placement.choose('one', null)).toBeNull()
  expect(placement.urlOf(null)).toBe('rtmp://all.example.com/live')
  report('free', 8)
  expect(placement.choose('one', 'silent')).toBe('free')
  expect(placement.urlOf('silent')).toBe('rtmp://free/live')
})

test('uses the fallback server for a node that reports none', () => {
  media.announce({ nodeId: 'a', status: { cpu: 0, streams: [] } as unknown as MediaNodeStatus })
  expect(placement.urlOf(placement.choose('one', null))).toBe('rtmp://all.example.com/live')
})
