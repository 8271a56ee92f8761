import { AppError, defineError } from './error.ts'

/** General errors: errors of the pipeline, and errors that several domains share. */

export const BadRequest = defineError({
  code: 'bad_request',
  status: 400,
  message: 'The request could not be parsed.',
  cause: 'The body is not valid JSON, or a header or the URL is malformed.',
  fix: 'Correct the request as described in the message. JSON must be complete and encoded in UTF-8.',
})
export const ValidationFailed = defineError({
  code: 'validation_failed',
  status: 400,
  message: 'Some of the input is not valid.',
  cause: 'A field is missing, unknown, has the wrong type or is out of range.',
  fix: 'Each entry in `errors` has the JSON pointer of a field and describes the accepted values. At most 20 are listed: the check ends there, and does not look into a list, map or text that is longer than allowed. Correct those and send the request again.',
})
export const Unauthorized = defineError({
  code: 'unauthorized',
  status: 401,
  message:
    'The request has no credential. Send an access token as `Authorization: Bearer <token>`, or an API key as `X-API-Key: <key>`.',
  cause: 'The request has no credential.',
  fix: 'Send `Authorization: Bearer <access token>` or `X-API-Key: <key>`.',
})
export const InvalidCredential = defineError({
  code: 'invalid_credential',
  status: 401,
  message: 'The token or API key is not valid. Log in again, or send a valid key.',
  cause: 'The token or API key is malformed, unknown or was revoked.',
  fix: 'Log in again, or create a new API key.',
})
export const CredentialExpired = defineError({
  code: 'credential_expired',
  status: 401,
  message: 'The access token has expired. Get a new one with POST /api/auth/refresh.',
  cause: 'Access tokens are valid for 15 minutes.',
  fix: 'Get a new pair with POST /api/auth/refresh.',
})
export const OriginNotAllowed = defineError({
  code: 'origin_not_allowed',
  status: 403,
  message:
    'This origin is not allowed. To allow it, the operator can add it to CORS_ORIGINS, or set PUBLIC_URL to the address of this server.',
  cause:
    'A page from another server called the API or opened a socket. Its origin is neither in CORS_ORIGINS nor the origin of PUBLIC_URL.',
  fix: 'Add the origin of the page to CORS_ORIGINS. Behind a proxy that changes the Host header, set PUBLIC_URL, or TRUST_PROXY and X-Forwarded-Host.',
})
export const EmailUnverified = defineError({
  code: 'email_unverified',
  status: 403,
  message:
    'Confirm your email address first: send the code from the email to POST /api/auth/verify-otp, or request a new code with POST /api/auth/resend-otp.',
  cause:
    'The credential is valid, but the user has not confirmed the email address with the code that was sent to it. Until then, the account and its API key can only read the user’s own profile.',
  fix: 'Send the code to POST /api/auth/verify-otp. Request a new code with POST /api/auth/resend-otp.',
})
export const ApiKeyLimited = defineError({
  code: 'api_key_limited',
  status: 403,
  message:
    'This API key is limited to scopes or workspaces and cannot use this operation. Log in, or use a key without limits.',
  cause:
    'The API key is limited to scopes or workspaces. Such a key can only call workspace operations. It cannot change the account of its user.',
  fix: 'Log in, or use an API key without limits.',
})
export const PlanLimit = defineError({
  code: 'plan_limit_reached',
  status: 402,
  message: 'A limit of the plan has been reached.',
  cause:
    'The workspace or its owner has used all that the plan allows. `details` has the name of the limit, its value, the current usage, and `nextPlan`, the smallest plan that allows more.',
  fix: 'Reduce the usage, wait for the next billing cycle, or choose a larger plan on the page /billing or with POST /api/billing/upgrade.',
})
export const Forbidden = defineError({
  code: 'forbidden',
  status: 403,
  message: 'You do not have permission to do this.',
  cause: 'You are a member, but your role lacks the scope that this operation needs.',
  fix: 'Ask an owner or admin of the workspace for the scope that the message names.',
})
export const SecondFactorNeeded = defineError({
  code: 'second_factor_needed',
  status: 403,
  message:
    'This workspace requires a second factor. Turn one on for your account with POST /api/auth/totp, or sign in with a passkey.',
  cause: 'The owners of the workspace require a second factor of all members. Until you have one, you cannot use it.',
  fix: 'Get a secret for an authenticator app with POST /api/auth/totp, confirm it with POST /api/auth/totp/confirm, and repeat the request. This does not need the workspace. A session that began with a passkey is accepted too, but an API key needs the authenticator app.',
})
export const NotFound = defineError({
  code: 'not_found',
  status: 404,
  message:
    'The resource does not exist, or you do not have access to it. Check the id, and that your token or API key belongs to the right account.',
  cause: 'The id is unknown, was deleted, or belongs to a workspace that you are not a member of.',
  fix: 'Check the id and that the credential belongs to the right account.',
})
export const RouteNotFound = defineError({
  code: 'route_not_found',
  status: 404,
  message: 'This path does not exist. /docs lists all operations.',
  cause: 'No operation of this API has this path.',
  fix: 'Check the path. /docs lists all operations.',
})
export const MethodNotAllowed = defineError({
  code: 'method_not_allowed',
  status: 405,
  message: 'This path does not support this method. The Allow header lists the methods that it supports.',
  cause: 'The path exists, but not with this HTTP method.',
  fix: 'Use a method from the Allow header.',
})
export const RequestTimeout = defineError({
  code: 'request_timeout',
  status: 408,
  message: 'The request body arrived at less than 2,000 bytes per second. Send it again over a faster connection.',
  cause: 'The body arrived at less than 2,000 bytes per second.',
  fix: 'Send the request again over a better connection. Upload large files in parts.',
})
export const Conflict = defineError({
  code: 'conflict',
  status: 409,
  message: 'The current state of the resource does not allow this.',
  cause: 'The operation conflicts with the current state of the resource.',
  fix: 'Read the resource again and act on its current state.',
})
export const IdempotencyRunning = defineError({
  code: 'idempotency_key_in_use',
  status: 409,
  message:
    'A request with this Idempotency-Key is still running. Repeat it after Retry-After seconds to get its reply.',
  cause: 'The first request with the key has not finished yet.',
  fix: 'Wait for the first request to finish, then repeat it with the same key to get the same reply.',
})
export const PreconditionFailed = defineError({
  code: 'precondition_failed',
  status: 412,
  message: 'The resource has changed since you read it.',
  cause: 'If-Match names a version that is not the current one.',
  fix: 'Read the resource again, apply your change to it and send the new ETag.',
})
export const PayloadTooLarge = defineError({
  code: 'payload_too_large',
  status: 413,
  message: 'The body is too large.',
  cause: 'The body exceeds the limit of the operation, or has too many fields and list items.',
  fix: 'Send a smaller body. The message gives the limit.',
})
export const UnsupportedMediaType = defineError({
  code: 'unsupported_media_type',
  status: 415,
  message: 'This operation does not accept this content type.',
  cause: 'The Content-Type header is missing or names another type.',
  fix: 'Send the content type that the message names.',
})
export const RangeNotSatisfiable = defineError({
  code: 'range_not_satisfiable',
  status: 416,
  message: 'The requested range is outside the file.',
  cause: 'The Range header starts after the end of the file.',
  fix: 'Request a range within the size given in Content-Range.',
})
export const IdempotencyMismatch = defineError({
  code: 'idempotency_key_reused',
  status: 422,
  message: 'This Idempotency-Key was used with another request. Use a new key for each new request.',
  cause: 'The key belongs to an earlier request with a different path or body.',
  fix: 'Use a new key for each new request.',
})
export const SearchTooBroad = defineError({
  code: 'search_too_broad',
  status: 422,
  message:
    'The search is too broad and was stopped. Use longer or rarer words, or narrow it with the other parameters.',
  cause: 'Too many rows of the workspace match the words, or too many have to be read to find the matches.',
  fix: 'Use longer or rarer words, or narrow the search with the other parameters.',
})
export const RateLimited = defineError({
  code: 'rate_limited',
  status: 429,
  message: 'Too many requests.',
  cause: 'The limit of this class of operations has been reached.',
  fix: 'Wait for the number of seconds in Retry-After.',
})
export const TooManyUploads = defineError({
  code: 'too_many_uploads',
  status: 429,
  message:
    'You already have 32 uploads in progress, which is the maximum. Wait until one ends before you start another.',
  cause: 'A caller can have at most 32 uploads in progress on one node.',
  fix: 'Wait until an upload ends before you start the next one.',
})
export const InternalError = defineError({
  code: 'internal_error',
  status: 500,
  message: 'An internal error occurred.',
  cause: 'The server failed. It logged the error with the request id.',
  fix: 'Try again. If the error persists, report the request id.',
})
export const DatabaseUnavailable = defineError({
  code: 'database_unavailable',
  status: 503,
  message: 'The database is currently unavailable. Try again in a few seconds.',
  cause: 'PostgreSQL is starting, restarting or unreachable.',
  fix: 'Try again after Retry-After seconds. Nothing was changed.',
})

/** Whether an error means that the database could not be reached or that its connection broke. */
export function isAway(error: unknown): boolean {
  return error instanceof AppError && error.code === DatabaseUnavailable.code
}
export const OutcomeUnknown = defineError({
  code: 'outcome_unknown',
  status: 503,
  message:
    'The database connection broke during the commit, so the change may or may not have been made. Read the resource to find out.',
  cause: 'The connection to PostgreSQL broke during the commit and was not restored in time to check the result.',
  fix: 'Read the resource to find out. It is safe to repeat the request with the same Idempotency-Key, because it is never executed twice.',
})
export const Overloaded = defineError({
  code: 'overloaded',
  status: 503,
  message: 'The server is overloaded. Try again in a few seconds.',
  cause: 'Too many requests are waiting on this server or in this workspace.',
  fix: 'Try again after Retry-After seconds.',
})
export const DeadlineExceeded = defineError({
  code: 'deadline_exceeded',
  status: 503,
  message: 'The request waited too long and was not executed. Try again in a few seconds.',
  cause: 'The request was still in a queue when its deadline passed.',
  fix: 'Try again after Retry-After seconds.',
})
export const ShuttingDown = defineError({
  code: 'shutting_down',
  status: 503,
  message: 'The server is shutting down. Try again in a few seconds.',
  cause: 'The server is being restarted or deployed.',
  fix: 'Try again after Retry-After seconds.',
})
export const ServiceDisabled = defineError({
  code: 'service_disabled',
  status: 503,
  message:
    'An administrator has switched off this service. Try again when GET /api/services/status shows it as operational.',
  cause: 'An administrator has switched off the service. Its jobs wait until it is on again.',
  fix: 'Try again after Retry-After seconds, or when GET /api/services/status shows the service as operational.',
})
