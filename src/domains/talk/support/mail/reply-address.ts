import { isSame, keyFor, type Key } from '../../../../tools/keys.ts'

/** Who may reply to which ticket by mail to this address. */
export interface ReplyRight {
  readonly ticketId: string
  readonly userId: string
}

/** Characters of a signature: 80 bits. */
const SIGNATURE = 16
const ALPHABET = '0123456789abcdefghijklmnopqrstuv'

/**
 * Addresses to which a user replies to a ticket: `support+<ticket>-<signature>@example.com`. The signature is for one
 * ticket and one user, so that a reply is from that user, whatever its From says. They consist of lower-case letters and
 * digits, because some mail programs change the case of addresses, and have less than 64 characters before the `@`.
 */
export class ReplyAddresses {
  readonly #key: Key
  /** Takes mails without a signature. */
  readonly address: string
  readonly #local: string
  readonly #domain: string

  /** @param address of the support team, to which mails without a signature go */
  constructor(secret: string, address: string) {
    this.#key = keyFor(secret, 'support reply addresses')
    this.address = address
    const at = address.lastIndexOf('@')
    this.#local = address.slice(0, at).toLowerCase()
    this.#domain = address.slice(at + 1).toLowerCase()
  }

  /** The domain of the addresses. */
  get domain(): string {
    return this.#domain
  }

  addressFor(right: ReplyRight): string {
    const ticket = BigInt(`0x${right.ticketId.replaceAll('-', '')}`)
      .toString(36)
      .padStart(25, '0')
    return `${this.#local}+${ticket}-${this.#signatureOf(right)}@${this.#domain}`
  }

  /** Whether a mail to an address is for the support team. */
  isOurs(address: string): boolean {
    const [local, domain] = splitAddress(address)
    return domain === this.#domain && (local === this.#local || local.startsWith(`${this.#local}+`))
  }

  /** The ticket and the signature in an address; undefined without them. The signature is not checked yet. */
  read(address: string): { readonly ticketId: string; readonly signature: string } | undefined {
    const [local] = splitAddress(address)
    const found = /\+([0-9a-z]{25})-([0-9a-v]{16})$/.exec(local)
    if (found === null || !this.isOurs(address)) return undefined
    const hex = Array.from(found[1] ?? '')
      .reduce((sum, digit) => sum * 36n + BigInt(Number.parseInt(digit, 36)), 0n)
      .toString(16)
      .padStart(32, '0')
    if (hex.length !== 32) return undefined
    const ticketId = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    return { ticketId, signature: found[2] ?? '' }
  }

  /** Whether a signature was made for this ticket and user. */
  isValid(right: ReplyRight, signature: string): boolean {
    return isSame(this.#signatureOf(right), signature)
  }

  #signatureOf({ ticketId, userId }: ReplyRight): string {
    const digest = this.#key.macBytes(`${ticketId} ${userId}`)
    return Array.from(digest.subarray(0, SIGNATURE), (byte) => ALPHABET[byte % 32]).join('')
  }
}

function splitAddress(address: string): [string, string] {
  const at = address.lastIndexOf('@')
  return [address.slice(0, at).toLowerCase(), address.slice(at + 1).toLowerCase()]
}
