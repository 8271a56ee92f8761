import { defineEntity, p } from '@mikro-orm/postgresql'
import { timestamp } from '../../../db/columns.ts'
import { table } from '../../../db/table.ts'

/** A signed request that was used; kept until its signature has expired. */
export const WorkerRequest = defineEntity({
  name: 'WorkerRequest',
  tableName: 'worker_requests',
  properties: { nonce: p.text().primary(), expiresAt: timestamp().index('worker_requests_by_expiry') },
})

/** A file that a worker has uploaded. It is stored under `<owner>/<id>`. */
export const WorkerUpload = defineEntity({
  name: 'WorkerUpload',
  tableName: 'worker_uploads',
  properties: {
    id: p.uuid().primary(),
    /** A workspace or a user. */
    ownerId: p.uuid(),
    name: p.text(),
    size: p.bigint('number'),
    sha256: p.text(),
    createdAt: timestamp(),
    expiresAt: timestamp().index('worker_uploads_by_expiry'),
  },
})

export const workerRequests = table(WorkerRequest)
export const workerUploads = table(WorkerUpload)
