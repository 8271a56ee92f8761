import type { Actors } from '../../actors/index.ts'

/** Counts for the health check. @throws Error when this node cannot run turns */
export async function actorHealth(actors: Actors): Promise<Readonly<Record<string, string | number | boolean>>> {
  const { active, waiting, quarantined, cluster } = actors.stats()
  if (cluster?.live === false) throw new Error('this node has no lease: Redis does not respond')
  const counts = { active, waiting, quarantined: quarantined.length }
  if (cluster === undefined) return counts
  const open = cluster.links.filter((link) => link.state === 'open').length
  return { ...counts, owned: cluster.owned, nodes: cluster.nodes, links: cluster.links.length, linksOpen: open }
}
