import { defineError } from '../../../core/error.ts'

export const WorkerSignatureWrong = defineError({
  code: 'worker_signature_wrong',
  status: 401,
  message: 'The signature of the request is wrong. Sign this request with the CLUSTER_SECRET of this installation.',
  cause: 'Authorization is malformed, was signed with another CLUSTER_SECRET, or belongs to another request.',
  fix: 'Sign the request as `src/domains/system/README.md` describes, with the CLUSTER_SECRET of this installation.',
})

export const WorkerRequestExpired = defineError({
  code: 'worker_request_expired',
  status: 401,
  message:
    'The request was not signed within the last five minutes. Correct the clock of the worker, and sign the request again.',
  cause: 'The date in Authorization differs from the time of the server by more than five minutes.',
  fix: 'Set the clock of the worker (`details.serverTime`), and sign the request again.',
})

export const WorkerRequestReplayed = defineError({
  code: 'worker_request_replayed',
  status: 409,
  message: 'The request was already sent. Sign it again with a new nonce.',
  cause: 'A signature is valid for one request. This one was used, even if the request failed.',
  fix: 'Sign the request again with a new nonce.',
})

export const WorkerContentWrong = defineError({
  code: 'worker_content_wrong',
  status: 400,
  message:
    'The size or checksum of the file does not match the signature. Sign the size and checksum of the file that you send.',
  cause: 'Its size or its SHA-256 differs from those in Authorization. Nothing was stored.',
  fix: 'Sign the size and checksum of the file that is sent.',
})
