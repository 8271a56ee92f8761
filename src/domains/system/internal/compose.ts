import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { WorkerGate } from './gate.ts'
import { WorkerSignatures } from './signing.ts'
import { findWorkerUploads, WorkerUploads } from './uploads.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly internal: ReturnType<typeof composeInternal>['services']['internal']
  }
}

/** Builds the services for workers, and keeps their files. */
export function composeInternal(foundation: Foundation, { assets }: Pick<Services, 'assets'>) {
  const { clock, config, database, secret } = foundation
  assets.housekeeping.keep(findWorkerUploads)
  const signatures = new WorkerSignatures(config.CLUSTER_SECRET ?? secret)
  const internal = {
    gate: new WorkerGate(signatures, database, clock),
    uploads: new WorkerUploads(foundation),
    signatures,
  }
  return { services: { internal } }
}
