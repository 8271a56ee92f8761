import { expect, test } from 'vitest'
import { redisUrl } from './redis-url.ts'

test.each([
  ['redis://:p%40ss@db:6380/2', { kind: 'one', password: 'p@ss', database: 2, tls: false, hosts: 'db:6380' }],
  ['rediss://db?ca=/etc/ca.pem', { kind: 'one', tls: true, ca: '/etc/ca.pem', servers: [{ host: 'db', port: 6379 }] }],
  [
    'redis+sentinel://ada:x@one,two:26380/mymaster/1',
    {
      kind: 'sentinel',
      primary: 'mymaster',
      username: 'ada',
      database: 1,
      servers: [
        { host: 'one', port: 26_379 },
        { host: 'two', port: 26_380 },
      ],
    },
  ],
  ['rediss+cluster://one:7000,[::1]:7001', { kind: 'cluster', tls: true, hosts: 'one:7000, [::1]:7001' }],
  ['unix:///run/redis.sock', { kind: 'one', hosts: '/run/redis.sock' }],
])('reads %s', (text, expected) => {
  expect(redisUrl(text)).toMatchObject(expected)
})

test.each([
  ['http://db', /^must begin with redis:\/\/ or rediss:\/\//],
  ['redis://one,two', /redis\+sentinel:\/\/ or redis\+cluster:\/\//],
  ['redis+sentinel://one,two', /^must name the primary/],
  ['redis+cluster://one:x', /^must be a URL. "one:x" is not a host with a port/],
  ['redis://db?ca=/etc/ca.pem', /Begin with rediss/],
])('says what is wrong with %s', (text, message) => {
  expect(() => redisUrl(text)).toThrow(message)
})
