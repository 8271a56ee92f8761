import { hash } from 'node:crypto'
import { prepared, type StoredBytes } from '../../../core/reply.ts'
import type { ConfiguredPlatform, PlatformDirectory } from '../../../platforms/directory.ts'
import type { Limits } from '../../../platforms/rules/limits.ts'
import type { AccountNow } from '../accounts/index.ts'
import type { PlatformDetailsData, PlatformSummaryData } from './schemas.ts'
import { accountView, detailsOf, summaryOf } from './views.ts'

/**
 * The replies about platforms, as bytes. What they say of a platform changes only with its rules, and what they say of an
 * account with the answer for it, so they are kept.
 */
export class PlatformReplies {
  readonly #directory: PlatformDirectory
  /** The list, which the settings of the server decide. */
  readonly #list: Stored
  /** By the rules that apply: the reply without an account, and its text up to the value of `account`. */
  readonly #starts = new WeakMap<Limits['byId'], Stored & { readonly text: string }>()
  readonly #ofAccounts = new WeakMap<AccountNow, Stored>()

  constructor(directory: PlatformDirectory) {
    this.#directory = directory
    this.#list = stored(`${START('Platforms')}${JSON.stringify(directory.all().map(summaryOf))}}`)
  }

  list() {
    return prepared(this.#list.bytes as StoredBytes<PlatformSummaryData[]>, this.#list.tag)
  }

  /** A platform, with the rules of an account if there is one. */
  details(entry: ConfiguredPlatform, account: AccountNow | null) {
    const { bytes, tag } =
      account === null ? this.#start(entry, this.#directory.limits(entry).byId) : this.#ofAccount(entry, account)
    return prepared(bytes as StoredBytes<PlatformDetailsData>, tag)
  }

  #ofAccount(entry: ConfiguredPlatform, account: AccountNow): Stored {
    let reply = this.#ofAccounts.get(account)
    if (reply === undefined) {
      const { text } = this.#start(entry, account.limits.byId)
      reply = stored(`${text}${JSON.stringify(accountView(account))}}}`)
      this.#ofAccounts.set(account, reply)
    }
    return reply
  }

  #start(entry: ConfiguredPlatform, rules: Limits['byId']): Stored & { readonly text: string } {
    let start = this.#starts.get(rules)
    if (start === undefined) {
      const details = JSON.stringify(detailsOf(entry, rules))
      const text = `${START('Platform')}${details.slice(0, -1)},"account":`
      start = { ...stored(`${text}null}}`), text }
      this.#starts.set(rules, start)
    }
    return start
  }
}

interface Stored {
  readonly bytes: Uint8Array
  readonly tag: string
}

const START = (message: string) => `{"status":true,"message":${JSON.stringify(message)},"data":`

function stored(text: string): Stored {
  const bytes = Buffer.from(text)
  return { bytes, tag: hash('sha256', bytes, 'base64url').slice(0, 22) }
}
