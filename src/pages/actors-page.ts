import type { Actors, ActorStats, NodeOwnership } from '../../actors/index.ts'

/** The page `/actors` of the admin port: the actors of every node, and the state of this node. */
export interface ActorsPage {
  readonly nodes: readonly NodeOwnership[]
  readonly here: ActorStats
}

export async function actorsPage(actors: Actors): Promise<ActorsPage> {
  return { nodes: await actors.owners(), here: actors.stats() }
}
