import type { PostContent } from '../content.ts'
import type { Platform, Price } from '../platform.ts'
import { spansOf } from './spans.ts'

/** What the platform charges for a post; undefined where it is free. Each part of a thread and the first comment count. */
export function costOf(
  { prices = [] }: Pick<Platform, 'prices'>,
  { firstComment = '', link = '', text, thread = [] }: PostContent,
): { readonly amount: number; readonly currency: string } | undefined {
  const price = (per: Price['per']) => prices.find((one) => one.per === per)
  const plain = price('post')
  if (plain === undefined) return undefined
  const withLink = price('post_with_link') ?? plain
  const parts = [
    link === '' ? text : `${text} ${link}`,
    ...thread.map((part) => part.text),
    ...(firstComment === '' ? [] : [firstComment]),
  ]
  const amount = parts.reduce((sum, part) => sum + (hasLink(part) ? withLink : plain).amount, 0)
  // Prices are fractions of cents, which binary numbers only approximate.
  return { amount: Math.round(amount * 1e6) / 1e6, currency: plain.currency }
}

function hasLink(text: string): boolean {
  // Every link has one of them, and the search for links is slow.
  if (!/[.:]/.test(text)) return false
  return spansOf(text).some(({ kind }) => kind === 'link')
}
