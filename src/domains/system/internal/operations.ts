import { operation } from '../../../core/operation.ts'
import { created } from '../../../core/reply.ts'
import { Envelope } from '../../../core/schema.ts'
import { StorageFull, StorageUnavailable } from '../../../storage/errors.ts'
import { WorkerContentWrong, WorkerRequestExpired, WorkerRequestReplayed, WorkerSignatureWrong } from './errors.ts'
import { MAX_UPLOAD_BYTES, StoredUpload } from './schemas.ts'

export const internalUpload = operation({
  route: 'POST /api/internal/uploads',
  summary: 'Upload a file as a worker of this installation',
  description:
    'Authorization is `Crier-Worker date=…, nonce=…, owner=…, sha256=…, size=…, signature=…`. The signature is an HMAC-SHA-256 over these values, method and path, with a key derived from `CLUSTER_SECRET`. It is valid for five minutes and for one request. The file must have the signed size and checksum. It is kept for seven days.',
  access: 'internal',
  upload: { kind: 'multipart', maxBytes: MAX_UPLOAD_BYTES },
  returns: { 201: Envelope(StoredUpload) },
  errors: [
    WorkerSignatureWrong,
    WorkerRequestExpired,
    WorkerRequestReplayed,
    WorkerContentWrong,
    StorageFull,
    StorageUnavailable,
  ],
  example: {},
  handle: async ({ internal, upload, worker }) => created('File stored', await internal.uploads.take(worker, upload)),
})
