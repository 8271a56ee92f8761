import type { Channels } from '../../src/core/ports.ts'

/** Channels of a test: the public ones, and the members of the private ones. */
export class TestChannels implements Channels {
  readonly members = new Map<string, string[]>()
  readonly open = new Set<string>()
  readonly #listeners = new Set<(workspaceId: string | undefined) => void>()

  async of(_workspaceId: string, userIds: readonly string[]) {
    await new Promise((resolve) => setImmediate(resolve))
    return new Map(
      userIds.map((id) => [
        id,
        [...this.members].filter(([, users]) => users.includes(id)).map(([channel]) => channel),
      ]),
    )
  }

  isPublic(_workspaceId: string, channelId: string): boolean {
    return this.open.has(channelId)
  }

  onChange(listener: (workspaceId: string | undefined) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  changed(workspaceId: string): void {
    for (const listener of this.#listeners) listener(workspaceId)
  }
}
