import type { Actors, ActorStats, NodeOwnership } from '../../actors/index.ts'

/** What the admin port shows at `/actors`: who owns what on every node, and how this node is doing. */
export interface ActorsPage {
  readonly nodes: readonly NodeOwnership[]
  readonly here: ActorStats
}

export async function actorsPage(actors: Actors): Promise<ActorsPage> {
  return { nodes: await actors.owners(), here: actors.stats() }
}
