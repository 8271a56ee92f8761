/**
 * The kinds of errors that platforms return. A platform's folder maps the platform's own codes to these; everything
 * else (retries, messages, who must act) follows from the kind.
 */

/** Who can remove the cause: the user, this server's operator or Crier's developers. `nobody`: it ends with time. */
export type WhoActs = 'user' | 'admin' | 'us' | 'nobody'

/**
 * Whether a call may be repeated. `later`: after `retryAfter` or a back-off. `after_refresh`: once, with a new token.
 * `reconcile`: the outcome is unknown, so first check on the platform. `never`: the same call fails again.
 */
export type Retry = 'later' | 'after_refresh' | 'reconcile' | 'never'

interface ErrorKindFacts {
  readonly meaning: string
  readonly retry: Retry
  readonly whoActs: WhoActs
  /** The message for the user. `{platform}` is the platform's title. */
  readonly message: string
}

export const ERROR_KINDS = {
  rate_limited: {
    meaning: 'Too many calls in a short time. The platform says when to come back, or a back-off decides.',
    retry: 'later',
    whoActs: 'nobody',
    message: '{platform} limits how often we can call it. We try again as soon as it allows.',
  },
  quota_exhausted: {
    meaning: 'The quota of the day, the account or the app is used up until it resets.',
    retry: 'later',
    whoActs: 'nobody',
    message: 'The quota at {platform} is used up. We try again when it resets.',
  },
  auth_expired: {
    meaning: 'The token has expired, was revoked, or belongs to a changed password.',
    retry: 'after_refresh',
    whoActs: 'user',
    message: '{platform} no longer accepts our access to this account. Connect the account again.',
  },
  scope_missing: {
    meaning: 'The user did not grant a permission that the call needs.',
    retry: 'never',
    whoActs: 'user',
    message:
      '{platform} did not grant a permission that this needs. Connect the account again and allow everything asked for.',
  },
  validation: {
    meaning: 'The content breaks a rule of the platform.',
    retry: 'never',
    whoActs: 'user',
    message: '{platform} does not accept this content. Change what the details name.',
  },
  media_processing: {
    meaning: 'The platform could not process a media file.',
    retry: 'never',
    whoActs: 'user',
    message: '{platform} could not process a media file. Try another file or format.',
  },
  duplicate_content: {
    meaning: 'The platform refuses content that the account has published already.',
    retry: 'never',
    whoActs: 'user',
    message: '{platform} refuses this because the account has already published the same content.',
  },
  policy_rejected: {
    meaning: 'The content breaks a policy of the platform.',
    retry: 'never',
    whoActs: 'user',
    message: '{platform} rejected this under its policies.',
  },
  account_restricted: {
    meaning: 'The account is locked, suspended, unverified or otherwise restricted at the platform.',
    retry: 'never',
    whoActs: 'user',
    message: '{platform} has restricted this account. Open {platform} and follow its instructions.',
  },
  network: {
    meaning: 'The platform could not be reached, or the connection was lost before the reply.',
    retry: 'reconcile',
    whoActs: 'nobody',
    message: '{platform} could not be reached. We try again.',
  },
  server_error: {
    meaning: 'The platform failed to handle the call.',
    retry: 'reconcile',
    whoActs: 'nobody',
    message: '{platform} has a problem at the moment. We try again.',
  },
  unsupported: {
    meaning: 'The platform, or this kind of account, has no such function.',
    retry: 'never',
    whoActs: 'user',
    message: '{platform} does not support this for this account.',
  },
  billing: {
    meaning: 'The platform charges for the call, and the app has no credit.',
    retry: 'never',
    whoActs: 'admin',
    message: '{platform} charges for this, and this server has no credit left there. Ask its administrator.',
  },
  app_misconfigured: {
    meaning:
      'The platform refuses the app: wrong client secret, redirect URI that is not registered, or a missing review.',
    retry: 'never',
    whoActs: 'admin',
    message: '{platform} refuses this server’s app. Ask the administrator to check its settings.',
  },
  unknown: {
    meaning: 'An error that Crier does not know.',
    retry: 'reconcile',
    whoActs: 'us',
    message: '{platform} returned an error that we do not know. The details have its text.',
  },
} as const satisfies Readonly<Record<string, ErrorKindFacts>>

export type ErrorKind = keyof typeof ERROR_KINDS

/** The code of a call that was not made, because its platform does not respond to any calls at the moment. */
export const CALLS_PAUSED = 'calls_paused'

export interface PlatformErrorOptions {
  /** The platform's own code, such as `190` or `InvalidToken`. */
  readonly code?: string | undefined
  /** The platform's own message. */
  readonly detail?: string | undefined
  readonly httpStatus?: number | undefined
  /** Seconds until the call may be repeated, if the platform specifies them. */
  readonly retryAfter?: number | undefined
  /** Whether the request can have had an effect at the platform. True unless it was never sent or clearly refused. */
  readonly mayHaveHappened?: boolean
  /** The size of the largest file that the account can upload, if the refusal of a larger file reveals it. */
  readonly mostBytes?: number | undefined
  readonly cause?: unknown
}

/** A call to a platform failed. `message` is for the user; `code` and `detail` are the platform's own. */
export class PlatformError extends Error {
  override readonly name = 'PlatformError'
  readonly kind: ErrorKind
  readonly code: string | undefined
  readonly detail: string | undefined
  readonly httpStatus: number | undefined
  readonly retryAfter: number | undefined
  readonly mayHaveHappened: boolean
  readonly mostBytes: number | undefined

  constructor(kind: ErrorKind, title: string, options: PlatformErrorOptions = {}) {
    super(ERROR_KINDS[kind].message.replaceAll('{platform}', title), { cause: options.cause })
    this.kind = kind
    this.code = options.code
    this.detail = options.detail
    this.httpStatus = options.httpStatus
    this.retryAfter = options.retryAfter
    this.mostBytes = options.mostBytes
    this.mayHaveHappened = options.mayHaveHappened ?? ERROR_KINDS[kind].retry === 'reconcile'
  }

  get retry(): Retry {
    return ERROR_KINDS[this.kind].retry
  }

  get whoActs(): WhoActs {
    return ERROR_KINDS[this.kind].whoActs
  }
}

/** Whether a platform refuses a file, so that the post can go without it, rather than the account or the call. */
export function isPictureRefused(error: unknown): boolean {
  return error instanceof PlatformError && ['validation', 'media_processing', 'unsupported'].includes(error.kind)
}
