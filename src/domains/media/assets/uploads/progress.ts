import type { Coordination } from '../../../../coordination/coordination.ts'
import type { Clock } from '../../../../core/clock.ts'
import type { WorkspaceEvent } from '../../../../core/event.ts'
import type { UploadRow } from '../tables.ts'
import { uploadProgress } from './events.ts'

const INTERVAL_MS = 1_000

type Upload = Pick<UploadRow, 'id' | 'workspaceId' | 'size'>

/** Publishes the progress of uploads to sockets. Polls the storage for the number of received bytes. */
export class UploadProgress {
  readonly #coordination: Coordination
  readonly #clock: Clock

  constructor(coordination: Coordination, clock: Clock) {
    this.#coordination = coordination
    this.#clock = clock
  }

  /** Publishes progress until `receive` ends. @param length returns the number of stored bytes */
  async during<T>(upload: Upload, length: () => Promise<number>, receive: () => Promise<T>): Promise<T> {
    let reported = -1
    const report = async () => {
      // After a failure, the next report has the new value.
      const received = await length().catch(() => reported)
      // An older result may arrive after a newer one.
      if (received <= reported) return
      reported = received
      this.#emit(upload, received)
    }
    const timer = setInterval(() => void report(), INTERVAL_MS)
    try {
      return await receive()
    } finally {
      clearInterval(timer)
      await report()
    }
  }

  #emit({ id, size, workspaceId }: Upload, received: number): void {
    const at = new Date(this.#clock.now()).toISOString()
    const data = { workspaceId, uploadId: id, received, size }
    const event: WorkspaceEvent = { workspaceId, seq: 0, type: uploadProgress.name, data, at }
    this.#coordination.publish(`ev:${workspaceId}`, [event])
  }
}
