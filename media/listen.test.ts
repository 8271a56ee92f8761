import { expect, it } from 'vitest'
import { listenError } from './listen.ts'

const settings = { port: 'RTMP_PORT', host: 'RTMP_HOST' }
const explain = (code: string) =>
  listenError(Object.assign(new Error('bind failed'), { code }), { host: '10.0.0.1', port: 80, settings }).message

it('distinguishes a port in use, a privileged port and a foreign address', () => {
  expect(explain('EADDRINUSE')).toBe('port 80 on 10.0.0.1 is taken: set RTMP_PORT to a free one (EADDRINUSE)')
  expect(explain('EACCES')).toMatch(/^this user may not bind port 80: set RTMP_PORT to 1024 or higher.*\(EACCES\)$/)
  expect(explain('EADDRNOTAVAIL')).toMatch(/^10.0.0.1 is not an address of this machine: set RTMP_HOST/)
  expect(explain('EPERM')).toBe('bind failed')
  const error = Object.assign(new Error('bind failed'), { code: 'EADDRINUSE' })
  const several = { host: '127.0.0.1', port: 3_903, settings: { port: 'SANDBOX_PORT', count: 20 } }
  expect(listenError(error, several).message).toBe(
    'port 3903 on 127.0.0.1 is taken: set SANDBOX_PORT to the first of 20 free ports in a row, or to 0 (EADDRINUSE)',
  )
})
