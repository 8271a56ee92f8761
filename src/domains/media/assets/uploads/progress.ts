import type { Coordination } from '../../../../coordination/coordination.ts'
import type { Clock } from '../../../../core/clock.ts'
import type { WorkspaceEvent } from '../../../../core/event.ts'
import type { UploadRow } from '../tables.ts'
import { uploadProgress } from './events.ts'

const EVERY_MS = 1_000

type Watched = Pick<UploadRow, 'id' | 'workspaceId' | 'size'>

/** Publishes the progress of uploads to sockets, by asking the storage how much it has. */
export class UploadProgress {
  readonly #coordination: Coordination
  readonly #clock: Clock

  constructor(coordination: Coordination, clock: Clock) {
    this.#coordination = coordination
    this.#clock = clock
  }

  /** Publishes progress until `take` ends. @param length the number of stored bytes */
  async during<T>(upload: Watched, length: () => Promise<number>, take: () => Promise<T>): Promise<T> {
    let told = -1
    const tell = async () => {
      // A failure is repaired by the next report.
      const received = await length().catch(() => told)
      // An older answer may arrive after a newer one.
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

  #emit({ id, size, workspaceId }: Watched, received: number): void {
    const at = new Date(this.#clock.now()).toISOString()
    const data = { workspaceId, uploadId: id, received, size }
    const event: WorkspaceEvent = { workspaceId, seq: 0, type: uploadProgress.name, data, at }
    this.#coordination.publish(`ev:${workspaceId}`, [event])
  }
}
