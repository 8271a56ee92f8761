import { expect, test } from 'vitest'
import { makeTicket } from '../media/preview/ticket.ts'
import { ManualClock } from '../src/core/clock.ts'
import { SignedLinks } from '../src/core/signed-links.ts'
import { AccessTokens } from '../src/domains/identity/auth/access-tokens.ts'
import { KnownDevices } from '../src/domains/identity/auth/known-devices.ts'
import { UploadSignatures } from '../src/domains/media/assets/uploads/signature.ts'
import { GuestLinks } from '../src/domains/publishing/approvals/guests/links.ts'
import { WorkerSignatures } from '../src/domains/system/internal/signing.ts'
import { ReplyAddresses } from '../src/domains/talk/support/mail/reply-address.ts'
import { previewKey } from '../src/server/media-preview.ts'
import { SignedTokens } from '../src/tools/signed-tokens.ts'

/**
 * Tokens that are already in mails, cookies and feeds must stay valid with every version. So their bytes are fixed here,
 * as the first version made them.
 */
const SECRET = 'a secret of the installation, for this test'
const ID = '0192f6a0-0000-7000-8000-000000000001'
const OTHER = '0192f6a0-0000-7000-8000-000000000002'
const HASH = 'ab'.repeat(32)

test('tokens have the bytes that the first version made', () => {
  const clock = new ManualClock()
  const values = { uploadId: ID, size: 7, type: 'image/png', sha256: null, expires: 1_800_000_000 }
  const claims = { date: '2026-11-01T12:00:00.000Z', nonce: 'n'.repeat(16), owner: ID, sha256: HASH, size: 7 }
  const guest = { id: ID, passcodeHash: null, tokenHash: HASH } as Parameters<GuestLinks['proof']>[0]
  const guests = new GuestLinks({ clock, secret: SECRET } as unknown as ConstructorParameters<typeof GuestLinks>[0])
  expect({
    access: new AccessTokens(SECRET, clock).issue(ID, OTHER),
    device: new KnownDevices(SECRET).issue(ID),
    guest: guests.proof(guest, 'cookie'),
    link: new SignedLinks(SECRET, clock).sign('/api/assets/a/file?variant=small'),
    preview: Buffer.from(previewKey(SECRET)).toString('hex'),
    reply: new ReplyAddresses(SECRET, 'help@example.com').addressFor({ ticketId: ID, userId: OTHER }),
    ticket: makeTicket(previewKey(SECRET), ID, clock.now()),
    token: new SignedTokens(SECRET, 'report links').sign('a text'),
    upload: new UploadSignatures(SECRET).sign(values),
    worker: new WorkerSignatures(SECRET).sign('POST /api/internal/uploads', claims),
  }).toMatchInlineSnapshot(`
    {
      "access": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIwMTkyZjZhMC0wMDAwLTcwMDAtODAwMC0wMDAwMDAwMDAwMDEiLCJzaWQiOiIwMTkyZjZhMC0wMDAwLTcwMDAtODAwMC0wMDAwMDAwMDAwMDIiLCJpYXQiOjE3OTM1MzQ0MDAsImV4cCI6MTc5MzUzNTMwMCwiaXNzIjoiY3JpZXIiLCJhdWQiOiJjcmllci1hcGkifQ.wTM2VkZ3Hf-h1Ko1ryJ2tzveiZ5oF0K2Sz1NjKHqYdU",
      "device": "crd_z_pE_bXHxr57NqfYS87kcKV-xE0QY9SBg_54nkrN8T0",
      "guest": "yUGBVzJ6BA-qmRakopAhBsbe2bVKInP2ZC8SUxcNpT8",
      "link": "/api/assets/a/file?expires=1793541600&signature=naGzGtuy6z1-CqH86UUoVBnNoe9SYTKYZCT4ljuOTl4&variant=small",
      "preview": "af1bb88e1cb933ebd7ee28e4f9add88c3898de3dcd816f9daa426dd37602baac",
      "reply": "help+03crtvz67zxvkm5imrb2c3u9t-dm1f9lrmvrrr5jep@example.com",
      "ticket": "1793534460000.dTMRcHN_bmSN0ecUk8DGIc_evyLKwxSSG-WSsrHdao8",
      "token": "YSB0ZXh0.OWWYO__LC1Ng_7B4hBRSes3jur6JB7Cf5DvfhqJMTOE",
      "upload": "IiGLkZnAbXCnbtpK2E8me-j0i5-zWVhjGbQKcXeNdIs",
      "worker": "Crier-Worker date=2026-11-01T12:00:00.000Z, nonce=nnnnnnnnnnnnnnnn, owner=0192f6a0-0000-7000-8000-000000000001, sha256=abababababababababababababababababababababababababababababababab, size=7, signature=21bed21874d3c53818603222bee1970f6f3f2d359a9cc3cb6711677ca5e3bfc3",
    }
  `)
})

test('values of another purpose or secret are not valid', () => {
  const token = new SignedTokens(SECRET, 'report links').sign('a text')
  expect(new SignedTokens(SECRET, 'report links').read(token)).toBe('a text')
  expect(new SignedTokens(SECRET, 'calendar feeds').read(token)).toBeUndefined()
  expect(new SignedTokens(`${SECRET}!`, 'report links').read(token)).toBeUndefined()
})
