import { expect, test } from 'vitest'
import type { Actors } from '../../actors/index.ts'
import { loadConfig } from '../config/config.ts'
import { drainMs, stopWithinMs } from './draining.ts'

const configOf = (DRAIN_SECONDS?: string) => loadConfig(DRAIN_SECONDS === undefined ? {} : { DRAIN_SECONDS })
const among = (nodes: number) => ({ stats: () => ({ cluster: { nodes } }) }) as unknown as Actors

test('a node drains for 4 s among several nodes, not at all alone, or for DRAIN_SECONDS', () => {
  expect(drainMs(configOf(), among(3))).toBe(4_000)
  expect(drainMs(configOf(), among(1))).toBe(0)
  expect(drainMs(configOf('7'), among(1))).toBe(7_000)
  expect(drainMs(configOf('0'), among(3))).toBe(0)
})

test('a node stops within 10 s unless DRAIN_SECONDS is longer', () => {
  expect(stopWithinMs(configOf())).toBeLessThanOrEqual(10_000)
  expect(stopWithinMs(configOf('1'))).toBeLessThanOrEqual(10_000)
  expect(stopWithinMs(configOf('60'))).toBeGreaterThan(60_000)
})
