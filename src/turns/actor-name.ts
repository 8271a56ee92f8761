const PREFIX = 'ws:'

/** The actor of a workspace. */
export function actorOf(workspaceId: string): string {
  return PREFIX + workspaceId
}

/** The workspace of an actor. */
export function workspaceOf(actor: string): string {
  return actor.slice(PREFIX.length)
}
