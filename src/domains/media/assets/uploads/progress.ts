import type { Coordination } from '../../../../coordination/coordination.ts'
import type { Clock } from '../../../../core/clock.ts'
import type { WorkspaceEvent } from '../../../../core/event.ts'
import { uploadProgress } from './events.ts'

const EVERY_MS = 1_000

interface Watched {
  readonly id: string
  readonly workspace_id: string
  readonly size: number
}

/** Tells sockets how far uploads are. It asks the storage what is there, and is in nobody's way. */
export class UploadProgress {
  readonly #coordination: Coordination
  readonly #clock: Clock

  constructor(coordination: Coordination, clock: Clock) {
    this.#coordination = coordination
    this.#clock = clock
  }

  /** Runs what takes the bytes, and tells how far it is until it ends. @param length bytes that are there */
  async during<T>(upload: Watched, length: () => Promise<number>, take: () => Promise<T>): Promise<T> {
    let told = -1
    const tell = async () => {
      // What cannot be said now is said the next time.
      const received = await length().catch(() => told)
      // An answer that was overtaken says nothing new.
      if (received <= told) return
      told = received
      this.#emit(upload, received)
    }
    const timer = setInterval(() => void tell(), EVERY_MS)
    try {
      return await take()
    } finally {
      clearInterval(timer)
      await tell()
    }
  }

  #emit({ id, size, workspace_id: workspaceId }: Watched, received: number): void {
    const at = new Date(this.#clock.now()).toISOString()
    const data = { workspaceId, uploadId: id, received, size }
    const event: WorkspaceEvent = { workspaceId, seq: 0, type: uploadProgress.name, data, at }
    this.#coordination.publish(`ev:${workspaceId}`, [event])
  }
}
