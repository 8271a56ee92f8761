import { expect, test } from 'vitest'
import type { Actors } from '../../actors/index.ts'
import { actorHealth } from './health.ts'

const alone = { active: 3, waiting: 2, quarantined: ['ws:1'] }
const actors = (stats: object) => ({ stats: () => stats }) as unknown as Actors

test('counts actors and waiting commands', async () => {
  expect(await actorHealth(actors(alone))).toEqual({ active: 3, waiting: 2, quarantined: 1 })
})

test('counts nodes and open links in a cluster, and fails without a lease', async () => {
  const cluster = { live: true, owned: 4, nodes: 3, links: [{ state: 'open' }, { state: 'connecting' }] }
  expect(await actorHealth(actors({ ...alone, cluster }))).toEqual({
    active: 3,
    waiting: 2,
    quarantined: 1,
    owned: 4,
    nodes: 3,
    links: 2,
    linksOpen: 1,
  })
  const without = actors({ ...alone, cluster: { ...cluster, live: false } })
  await expect(actorHealth(without)).rejects.toThrow('this node has no lease')
})
