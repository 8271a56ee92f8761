import { expect, test } from 'vitest'
import { HOUR, ManualClock, MINUTE } from './clock.ts'
import { SignedLinks } from './signed-links.ts'

const FILE = '/api/assets/1/file'

function start() {
  // In the middle of an hour.
  const clock = new ManualClock(Date.parse('2026-11-01T12:30:00Z'))
  const links = new SignedLinks('a secret of tests', clock)
  const follow = (url: string, path = url.split('?')[0] as string) => links.require(path, url.split('?')[1] ?? '')
  return { clock, links, follow }
}

test('a link is valid until the hour after the next one begins, and not at that moment', () => {
  const { clock, links, follow } = start()
  const url = links.sign(FILE)
  const until = Date.parse('2026-11-01T14:00:00Z')
  expect(links.until).toBe(until)
  expect(url).toContain(`?expires=${until / 1_000}&`)
  follow(url)
  clock.advance(90 * MINUTE - 1)
  follow(url)
  clock.advance(1)
  expect(() => follow(url)).toThrow(expect.objectContaining({ code: 'credential_expired' }))
})

test('a link that is needed for longer is valid for longer', () => {
  const { clock, links, follow } = start()
  const url = links.sign(FILE, 5 * HOUR)
  clock.advance(5 * HOUR + 89 * MINUTE)
  follow(url)
  clock.advance(MINUTE)
  expect(() => follow(url)).toThrow(expect.objectContaining({ code: 'credential_expired' }))
})

test('links of one hour are equal, so that browsers find them in their cache', () => {
  const { clock, links } = start()
  const url = links.sign(FILE)
  clock.advance(29 * MINUTE)
  expect(links.sign(FILE)).toBe(url)
  clock.advance(MINUTE)
  expect(links.sign(FILE)).not.toBe(url)
})

test('the query of the file is kept at the end and signed with the path', () => {
  const { links, follow } = start()
  const url = links.sign(`${FILE}?size=small&of=a.m3u8`)
  expect(url).toMatch(/&size=small&of=a\.m3u8$/)
  follow(url)
  const refused = expect.objectContaining({ code: 'invalid_credential' })
  expect(() => follow(url.replace('small', 'large'))).toThrow(refused)
  expect(() => follow(url.replace('&size=small&of=a.m3u8', ''))).toThrow(refused)
  expect(() => follow(`${url}&more=1`)).toThrow(refused)
  expect(() => follow(url.replace(/expires=\d/, 'expires=9'))).toThrow(refused)
  expect(() => follow(url, '/api/assets/2/file')).toThrow(refused)
  expect(() => follow(FILE)).toThrow(refused)
})

test('links are the same in every version, because they are in use while a node is replaced', () => {
  const { links } = start()
  expect(links.sign(FILE)).toBe(`${FILE}?expires=1793541600&signature=gM-qUxiX6s1FUZrnJd68nxkBJKdfWm6PD83VsEgMNt8`)
})

test('a link of another installation is refused', () => {
  const { clock, follow } = start()
  const url = new SignedLinks('another secret', clock).sign(FILE)
  expect(() => follow(url)).toThrow(expect.objectContaining({ code: 'invalid_credential' }))
})
