import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY, ManualClock } from '../../src/core/clock.ts'
import { Database } from '../../src/db/database.ts'
import { createLog } from '../../src/core/log.ts'
import { houseAccount, walletOf, type Line } from '../../src/domains/money/ledger/index.ts'
import {
  correctBalance,
  getLedgerReport,
  getWallet,
  listCorrections,
  listWalletEntries,
} from '../../src/domains/money/ledger/operations.ts'
import { getProfile } from '../../src/domains/identity/users/operations.ts'
import { getReadiness } from '../../src/domains/system/health/operations.ts'
import { entities } from '../../src/registry/entities.ts'
import { startApp, type App } from '../support/app.ts'
import { World } from '../support/world.ts'

const clock = new ManualClock(Date.parse('2026-01-31T10:00:00Z'))
let app: App
let world: World
/** A second pool of connections, like that of another node. */
let other: Database

beforeAll(async () => {
  app = await startApp({ clock })
  world = new World(app)
  other = await Database.connect({
    url: app.databaseUrl,
    poolSize: 8,
    entities,
    log: createLog({ level: 'silent' }),
  })
})
afterAll(async () => {
  await other?.close()
  await app?.stop()
})

const ledger = () => app.composition.services.ledger

/** Money that reaches a wallet, as a gateway brings it. */
function topUp(userId: string, amount: number, reference: string) {
  return app.database.transaction((tx) =>
    ledger().post(tx, {
      kind: 'top_up',
      reference,
      lines: [
        { account: walletOf(userId, 'USD'), amount },
        { account: houseAccount('gateway:manual', 'USD'), amount: -amount },
      ],
    }),
  )
}

function spend(userId: string, amount: number): readonly Line[] {
  return [
    { account: walletOf(userId, 'USD'), amount: -amount },
    { account: houseAccount('revenue', 'USD'), amount },
  ]
}

const balance = (userId: string) => ledger().wallet.balanceOf(app.database, userId, 'USD')
const faults = async () => (await ledger().inspector.check()).faults

describe('entries', () => {
  test('a reference is posted once, and returns the first entry', async () => {
    const { id } = await world.user('ada')
    const first = await topUp(id, 1_000, 'top-up:1')
    const again = await Promise.all([topUp(id, 1_000, 'top-up:1'), topUp(id, 1_000, 'top-up:1')])
    expect(first.repeated).toBe(false)
    expect(again).toEqual(again.map(() => ({ entryId: first.entryId, repeated: true })))
    expect(await balance(id)).toBe(1_000)
    await expect(topUp(id, 999, 'top-up:1')).rejects.toThrow(/posted before/)
    expect(await balance(id)).toBe(1_000)
  })

  test('an entry that does not add up is refused before it reaches the database', async () => {
    const { id } = await world.user('ada')
    const lines = [...spend(id, 5), { account: houseAccount('tax', 'EUR'), amount: 1 }]
    const post = app.database.transaction((tx) => ledger().post(tx, { kind: 'payment', reference: 'odd', lines }))
    await expect(post).rejects.toThrow('add up to 1 EUR')
  })

  test('50 payments at once on two pools never take a wallet below zero', async () => {
    const { id } = await world.user('bob')
    await topUp(id, 1_050, 'top-up:bob')
    const nodes = [app.database, other]
    const paid = await Promise.allSettled(
      Array.from({ length: 50 }, (_, index) => {
        const node = nodes[index % 2] ?? other
        const posting = { kind: 'wallet_payment', reference: `wallet:${index}`, lines: spend(id, 100) } as const
        return node.transaction((tx) => ledger().post(tx, posting))
      }),
    )
    const refused = paid.filter((result) => result.status === 'rejected')
    expect(paid.length - refused.length).toBe(10)
    for (const { reason } of refused) expect(reason).toMatchObject({ code: 'insufficient_funds', status: 402 })
    expect(await balance(id)).toBe(50)
    expect(await faults()).toEqual([])
  })

  test('settlements in opposite orders of accounts do not block each other', async () => {
    const { id } = await world.user('cid')
    const lines = [
      [houseAccount('gateway:a', 'USD'), houseAccount('revenue', 'USD')],
      [houseAccount('tax', 'USD'), houseAccount('fees', 'USD')],
    ] as const
    const settle = (index: number, node: Database) =>
      node.transaction(async (tx) => {
        const inOrder = index % 2 === 0 ? lines : lines.toReversed()
        for (const [one, two] of inOrder) {
          const reference = `order:${id}:${index}:${one.kind}`
          const amounts = [
            { account: one, amount: -7 },
            { account: two, amount: 7 },
          ]
          await ledger().post(tx, { kind: 'payment', reference, lines: amounts })
        }
      })
    await Promise.all(Array.from({ length: 40 }, (_, index) => settle(index, index % 4 < 2 ? app.database : other)))
    expect(await ledger().balanceOf(app.database, houseAccount('gateway:a', 'USD'))).toBe(-280)
    expect(await faults()).toEqual([])
  })
})

const refuse = async (statement: string, constraint: string) => {
  const error = await app.database.transaction((tx) => tx.run(statement)).catch((caught: unknown) => caught)
  const { cause, constraint: named } = error as { constraint?: string; cause?: { constraint?: string } }
  expect(named ?? cause?.constraint, `${statement}: ${String(error)}`).toBe(constraint)
}

describe('the database refuses', () => {
  test.each([
    'update ledger_lines set amount = amount + 1',
    'delete from ledger_lines',
    `update ledger_entries set reason = 'another'`,
    'delete from ledger_entries',
    'truncate ledger_lines',
    'truncate ledger_accounts cascade',
    'update ledger_accounts set balance = balance + 1',
    `update ledger_accounts set unit = 'EUR' where kind = 'wallet'`,
    'delete from ledger_accounts',
    `insert into ledger_accounts values (gen_random_uuid(), 'revenue', null, 'CHF', 5, now())`,
  ])('%s', async (statement) => {
    await topUp((await world.user('ada')).id, 1, `append-only:${statement}`)
    await refuse(statement, 'ledger_append_only')
  })

  test('an entry whose lines do not add up to zero', async () => {
    await refuse(
      `with entry as (
         insert into ledger_entries values (gen_random_uuid(), 'payment', 'raw:1', null, null, 2, now()) returning id
       )
       insert into ledger_lines
       select gen_random_uuid(), entry.id, account.id, account.kind, 'USD', 5, null, now()
       from entry, (select id, kind from ledger_accounts where owner_id is null and unit = 'USD' limit 2) as account`,
      'ledger_entries_balanced',
    )
  })

  test('an entry without its lines, and lines that are added to an entry later', async () => {
    await refuse(
      `insert into ledger_entries values (gen_random_uuid(), 'payment', 'raw:2', null, null, 2, now())`,
      'ledger_entries_complete',
    )
    await refuse(
      `insert into ledger_lines
       select gen_random_uuid(), (select id from ledger_entries limit 1), account.id, account.kind, 'USD', amount, null, now()
       from (select id, kind from ledger_accounts where owner_id is null and unit = 'USD' limit 1) as account,
         (values (5), (-5)) as given (amount)`,
      'ledger_entries_complete',
    )
  })
})

describe('the database refuses lines', () => {
  test.each([
    ['of an account that does not exist', `gen_random_uuid(), null, 'USD'`],
    [
      'in another unit than that of the account',
      `(select id from ledger_accounts where kind = 'wallet' limit 1), null, 'CHF'`,
    ],
    [
      'of a user as if they were of the house',
      `(select id from ledger_accounts where kind = 'wallet' limit 1), 'fees', 'USD'`,
    ],
    [
      'of the house with another kind',
      `(select id from ledger_accounts where kind = 'revenue' limit 1), 'fees', 'USD'`,
    ],
  ])('%s', async (_what, account) => {
    await refuse(
      `with entry as (
         insert into ledger_entries values (gen_random_uuid(), 'payment', 'raw:3', null, null, 2, now()) returning id
       )
       insert into ledger_lines
       select gen_random_uuid(), entry.id, ${account}, amount, null, now() from entry, (values (5), (-5)) as given (amount)`,
      'ledger_lines_account',
    )
  })
})

describe('credits', () => {
  const credits = () => ledger().credits
  const remaining = async (userId: string) => (await credits().balanceOf(app.database, userId)).remaining
  const grant = (userId: string, amount: number, expiresAt: Date | null, reference: string) =>
    app.database.transaction((tx) => credits().grant(tx, { userId, amount, source: 'purchase', reference, expiresAt }))
  const reserve = (userId: string, amount: number, reference: string) =>
    app.database.transaction((tx) => credits().reserve(tx, { userId, amount, reference }))
  const settle = (id: string, used: number) => app.database.transaction((tx) => credits().settle(tx, id, used))
  const release = (id: string) => app.database.transaction((tx) => credits().release(tx, id))
  const inDays = (days: number) => new Date(clock.now() + days * DAY)

  test('the credits that expire next are used first', async () => {
    const { id } = await world.user('dora')
    await grant(id, 100, null, 'buy:1')
    await grant(id, 10, inDays(7), 'buy:2')
    expect(await grant(id, 10, inDays(7), 'buy:2')).toBe(false)
    const { _id } = await reserve(id, 25, 'job:1')
    expect(await reserve(id, 25, 'job:1')).toMatchObject({ _id, status: 'open' })
    expect(await credits().balanceOf(app.database, id)).toEqual({
      remaining: 105,
      reserved: 25,
      perMonth: 20,
      lots: [
        { remaining: 5, source: 'plan', expiresAt: '2026-02-28T10:00:00.000Z' },
        { remaining: 100, source: 'purchase', expiresAt: null },
      ],
    })
    expect(await settle(_id, 12)).toMatchObject({ status: 'settled', used: 12 })
    expect(await settle(_id, 12)).toMatchObject({ status: 'settled', used: 12 })
    await expect(settle(_id, 13)).rejects.toThrow('is settled')
    expect(await release(_id)).toMatchObject({ status: 'settled' })
    expect(await remaining(id)).toBe(118)
    expect(await faults()).toEqual([])
  })

  test('reservations at once never exceed what is left', async () => {
    const { id } = await world.user('eve')
    const nodes = [app.database, other]
    const tried = await Promise.allSettled(
      Array.from({ length: 50 }, (_, index) => {
        const request = { userId: id, amount: 3, reference: `race:${index}` }
        return (nodes[index % 2] ?? other).transaction((tx) => credits().reserve(tx, request))
      }),
    )
    expect(tried.filter(({ status }) => status === 'fulfilled')).toHaveLength(6)
    expect(await remaining(id)).toBe(2)
    const refused = await reserve(id, 3, 'race:last').catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'insufficient_credits', details: { amount: 3, available: 2 } })
    expect(await faults()).toEqual([])
  })

  test('a better plan grants the difference at once, and the profile shows what is left', async () => {
    const { id } = await world.user('fay')
    const { _id } = await reserve(id, 20, 'plan:1')
    await settle(_id, 20)
    expect(await remaining(id)).toBe(0)
    await app.composition.services.plans.change(id, 'starter')
    expect(await remaining(id)).toBe(230)
    await reserve(id, 30, 'plan:2')
    expect((await world.as('fay').call(getProfile)).body.data.subscription).toMatchObject({
      creditsRemaining: 200,
      creditsPerMonth: 250,
    })
    await app.composition.services.plans.change(id, 'free')
    expect(await remaining(id)).toBe(200)
  })

  test('credits expire, except what is reserved, and lost reservations are released', async () => {
    const { id } = await world.user('gus')
    await grant(id, 50, inDays(2), 'gus:1')
    const { _id } = await reserve(id, 30, 'gus:job')
    clock.advance(2 * DAY - 1)
    await ledger().sweep(new AbortController().signal)
    // A day has passed, so the reservation was released.
    expect(await release(_id)).toMatchObject({ status: 'released' })
    expect(await remaining(id)).toBe(70)
    const held = await reserve(id, 30, 'gus:job:2')
    clock.advance(1)
    expect(await remaining(id)).toBe(20)
    await ledger().sweep(new AbortController().signal)
    expect(await settle(held._id, 5)).toMatchObject({ used: 5 })
    await ledger().sweep(new AbortController().signal)
    await ledger().sweep(new AbortController().signal)
    const { body } = await world.as('gus').call(listWalletEntries)
    expect(
      body.data.map((entry: { kind: string; amount: number; balance: number }) => [
        entry.kind,
        entry.amount,
        entry.balance,
      ]),
    ).toEqual([
      ['credit_expiry', -25, 20],
      ['credit_use', -5, 45],
      ['credit_expiry', -20, 50],
      ['plan_credits', 20, 70],
      ['credit_purchase', 50, 50],
    ])
    expect(await faults()).toEqual([])
  })
})

describe('administrators', () => {
  test('correct a balance by an entry with a reason', async () => {
    const admin = await world.user('root', { admin: true })
    const { id } = await world.user('hal')
    const reason = 'Goodwill for the outage on 2 March'
    const correct = (body: object) => world.as('root').call(correctBalance, { body: { userId: id, reason, ...body } })
    const { body, status } = await correct({ accountKind: 'wallet', amount: 500, currency: 'EUR' })
    expect(status).toBe(201)
    expect(body.data).toMatchObject({
      accountKind: 'wallet',
      kind: 'correction',
      amount: 500,
      currency: 'EUR',
      balance: 500,
      reason,
      userId: id,
      actorId: admin.id,
    })
    expect((await correct({ accountKind: 'credits', amount: 7, expiresAt: '2027-01-01T00:00:00Z' })).status).toBe(201)
    expect((await correct({ accountKind: 'credits', amount: -20 })).body.data).toMatchObject({
      amount: -20,
      balance: 7,
    })
    const tooMuch = await correct({ accountKind: 'wallet', amount: -501, currency: 'EUR' })
    expect(tooMuch.body).toMatchObject({ code: 'insufficient_funds', details: { amount: 501, currency: 'EUR' } })
    expect((await correct({ accountKind: 'credits', amount: -8 })).body.code).toBe('insufficient_credits')
    const wallet = await world.as('hal').call(getWallet)
    expect(wallet.body.data).toMatchObject({
      balances: [{ amount: 500, currency: 'EUR' }],
      credits: { remaining: 7, reserved: 0, perMonth: 20 },
    })
    expect(wallet.body.data.entries).toHaveLength(4)
    const { body: corrections } = await world.as('root').call(listCorrections)
    expect(corrections.data.map((entry: { amount: number }) => entry.amount)).toEqual([-20, 7, 500])
    expect(await faults()).toEqual([])
  })

  test.each([
    [{ accountKind: 'wallet', amount: 5 }, '/body/currency'],
    [{ accountKind: 'wallet', amount: 0, currency: 'USD' }, '/body/amount'],
    [{ accountKind: 'credits', amount: 5, currency: 'USD' }, '/body/currency'],
    [{ accountKind: 'credits', amount: -5, expiresAt: '2027-01-01T00:00:00Z' }, '/body/expiresAt'],
  ])('cannot correct by %j', async (input, path) => {
    await world.user('root', { admin: true })
    const { id } = await world.user('hal')
    const { body } = await world.as('root').call(correctBalance, { body: { userId: id, reason: 'Test', ...input } })
    expect(body).toMatchObject({ code: 'validation_failed', errors: [{ path }] })
  })

  test('cannot correct the balance of nobody', async () => {
    await world.user('root', { admin: true })
    const userId = '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e00'
    const body = { userId, accountKind: 'credits', amount: 5, reason: 'Test' }
    expect((await world.as('root').call(correctBalance, { body })).status).toBe(404)
  })
})

// Last, because it damages the ledger.
test('the nightly check finds what went around the rules, and reports it', async () => {
  await world.user('root', { admin: true })
  const { id } = await world.user('ada')
  expect(await faults()).toEqual([])
  await app.database.transaction(async (tx) => {
    await tx.run(`select set_config('session_replication_role', 'replica', true)`)
    await tx.run(`update ledger_accounts set balance = balance + 1 where owner_id = $1 and kind = 'wallet'`, [id])
    await tx.run(
      `update ledger_lines set amount = amount - 1 where id = (select max(id::text)::uuid from ledger_lines)`,
    )
    await tx.run(
      'update credit_lots set reserved = reserved + 1 where id = (select id from credit_lots where remaining > reserved limit 1)',
    )
  })
  const found = await faults()
  expect(new Set(found.map(({ kind }) => kind))).toEqual(new Set(['balance', 'entry', 'holds']))
  expect(app.logs.filter(({ msg }) => msg === 'the ledger does not add up')).toHaveLength(found.length)
  const { body } = await world.as('root').call(getLedgerReport)
  expect(body.data.faults).toEqual(found)
  const readiness = await world.as('root').call(getReadiness)
  expect(readiness.body.data.checks.ledger).toMatchObject({ ok: true, details: { faults: found.length } })
})
