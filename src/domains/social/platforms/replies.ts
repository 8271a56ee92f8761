import { hash } from 'node:crypto'
import { prepared, type StoredJson } from '../../../core/reply.ts'
import type { ConfiguredPlatform, PlatformDirectory } from '../../../platforms/directory.ts'
import type { Limits } from '../../../platforms/rules/limits.ts'
import type { AccountNow } from '../accounts/index.ts'
import type { PlatformDetailsData, PlatformSummaryData } from './schemas.ts'
import { accountView, detailsOf, summaryOf } from './views.ts'

/** The replies about platforms. What they say of a platform changes only with its rules, so their text is kept. */
export class PlatformReplies {
  readonly #directory: PlatformDirectory
  /** The list, which the settings of the server decide. */
  readonly #list: Text
  /** By the rules that apply: the reply up to the value of `account`. */
  readonly #starts = new WeakMap<Limits['byId'], Text>()

  constructor(directory: PlatformDirectory) {
    this.#directory = directory
    this.#list = textOf(`${START('Platforms')}${JSON.stringify(directory.all().map(summaryOf))}}`)
  }

  list() {
    const { tag, text } = this.#list
    return prepared(text as StoredJson<PlatformSummaryData[]>, tag)
  }

  /** A platform, with the rules of an account if there is one. */
  details(entry: ConfiguredPlatform, account: AccountNow | null) {
    const { byId } = account?.limits ?? this.#directory.limits(entry)
    const start = this.#start(entry, byId)
    const end = `${JSON.stringify(account === null ? null : accountView(account))}}}`
    const text = (start.text + end) as StoredJson<PlatformDetailsData>
    return prepared(text, account === null ? start.tag : tagOf(start.tag + end))
  }

  #start(entry: ConfiguredPlatform, rules: Limits['byId']): Text {
    let start = this.#starts.get(rules)
    if (start === undefined) {
      const details = JSON.stringify(detailsOf(entry, rules))
      start = textOf(`${START('Platform')}${details.slice(0, -1)},"account":`)
      this.#starts.set(rules, start)
    }
    return start
  }
}

interface Text {
  readonly text: string
  readonly tag: string
}

const START = (message: string) => `{"status":true,"message":${JSON.stringify(message)},"data":`

function textOf(text: string): Text {
  return { text, tag: tagOf(text) }
}

function tagOf(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22)
}
