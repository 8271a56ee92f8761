import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'

/** A certificate authority for tests: X.509 version 1, P-256, PEM. */
export interface TestAuthority {
  readonly ca: string
  /** A key, and a certificate signed by this authority. */
  issue(name: string): { readonly key: string; readonly cert: string; readonly ca: string }
}

export function testAuthority(name: string): TestAuthority {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const ca = certificate(name, publicKey, name, privateKey)
  return {
    ca,
    issue: (subject) => {
      const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const key = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
      return { key, cert: certificate(subject, pair.publicKey, name, privateKey), ca }
    },
  }
}

/** RFC 5280, section 4.1. */
function certificate(subject: string, publicKey: KeyObject, issuer: string, signer: KeyObject): string {
  const algorithm = sequence(ECDSA_WITH_SHA256)
  const serial = Buffer.concat([Buffer.of(1), randomBytes(8)])
  const validity = sequence(der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from('491231235959Z')))
  const key = publicKey.export({ type: 'spki', format: 'der' })
  const body = sequence(der(0x02, serial), algorithm, nameOf(issuer), validity, nameOf(subject), key)
  const signature = der(0x03, Buffer.concat([Buffer.of(0), sign('sha256', body, signer)]))
  const lines =
    sequence(body, algorithm, signature)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

const ECDSA_WITH_SHA256 = Buffer.from('06082a8648ce3d040302', 'hex')
const COMMON_NAME = Buffer.from('0603550403', 'hex')

function nameOf(text: string): Buffer {
  return sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(text)))))
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts))
}

/** Tag, length, content (ITU-T X.690). */
function der(tag: number, content: Buffer): Buffer {
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), content])
  return Buffer.concat([Buffer.of(tag, 0x82, length >> 8, length & 0xff), content])
}
