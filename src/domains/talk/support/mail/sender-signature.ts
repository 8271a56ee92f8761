import { createHash } from 'node:crypto'
import { MINUTE, SECOND } from '../../../../core/clock.ts'
import { Key } from '../../../../tools/keys.ts'

/** How far the clock of the mail server may be off. */
export const TOLERANCE_MS = 5 * MINUTE

const FORM = /^t=(\d{1,12}),sha256=([0-9a-f]{64}),v1=([0-9a-f]{64})$/

/**
 * Checks the header with which a mail server signs a mail: `t=<Unix time>,sha256=<digest of the mail>,v1=<HMAC>`, all
 * hexadecimal. The HMAC is SHA-256 of `<Unix time>.<digest>` with the secret as the key. It covers the digest rather than
 * the mail, so that a stranger's mail is refused before it is read. A mail that is sent again has no effect.
 * @returns what checks the mail itself; undefined if the header is not of the mail server, or too old
 */
export function readSignature(
  header: string,
  secret: string,
  now: number,
): ((mail: Uint8Array) => boolean) | undefined {
  const [, time = '', digest = '', mac = ''] = FORM.exec(header) ?? []
  if (time === '' || Math.abs(now - Number(time) * SECOND) > TOLERANCE_MS) return undefined
  if (!new Key(secret).matches(`${time}.${digest}`, Buffer.from(mac, 'hex'))) return undefined
  return (mail) => createHash('sha256').update(mail).digest('hex') === digest
}
