/**
 * Standard rates of VAT in the European Union, as dated data: from which day on a rate applies, in hundredths of a percent.
 * Source: European Commission, "VAT rates applied in the Member States", and the laws that changed them since. A change is
 * a new row; rows never change.
 *
 * The rates that applied at the end of 2025 were compared with lists of third parties on 2026-11-23 (calculariva.app for all
 * 27 countries, easytax.co but for Estonia, whose rate rose later). Later changes of the law were not looked up.
 */
export const STANDARD_RATES: Readonly<Record<string, readonly (readonly [from: string, basisPoints: number])[]>> = {
  AT: [['1995-01-01', 2_000]],
  BE: [['1996-01-01', 2_100]],
  BG: [['2007-01-01', 2_000]],
  CY: [['2014-01-13', 1_900]],
  CZ: [['2013-01-01', 2_100]],
  DE: [
    ['2007-01-01', 1_900],
    ['2020-07-01', 1_600],
    ['2021-01-01', 1_900],
  ],
  DK: [['1992-01-01', 2_500]],
  EE: [
    ['2009-07-01', 2_000],
    ['2024-01-01', 2_200],
    ['2025-07-01', 2_400],
  ],
  ES: [['2012-09-01', 2_100]],
  FI: [
    ['2013-01-01', 2_400],
    ['2024-09-01', 2_550],
  ],
  FR: [['2014-01-01', 2_000]],
  GR: [['2016-06-01', 2_400]],
  HR: [['2012-03-01', 2_500]],
  HU: [['2012-01-01', 2_700]],
  IE: [
    ['2012-01-01', 2_300],
    ['2020-09-01', 2_100],
    ['2021-03-01', 2_300],
  ],
  IT: [['2013-10-01', 2_200]],
  LT: [['2009-09-01', 2_100]],
  LU: [
    ['2015-01-01', 1_700],
    ['2023-01-01', 1_600],
    ['2024-01-01', 1_700],
  ],
  LV: [['2012-07-01', 2_100]],
  MT: [['2004-01-01', 1_800]],
  NL: [['2012-10-01', 2_100]],
  PL: [['2011-01-01', 2_300]],
  PT: [['2011-01-01', 2_300]],
  RO: [
    ['2017-01-01', 1_900],
    ['2025-08-01', 2_100],
  ],
  SE: [['1990-07-01', 2_500]],
  SI: [['2013-07-01', 2_200]],
  SK: [
    ['2011-01-01', 2_000],
    ['2025-01-01', 2_300],
  ],
}

/** Whether a country (ISO 3166-1 alpha-2) is in the area of European VAT. */
export function isInEu(country: string): boolean {
  return Object.hasOwn(STANDARD_RATES, country)
}

/**
 * The standard rate of a country in the European Union at a time, in hundredths of a percent.
 * @param at milliseconds since the epoch. Days change at midnight UTC.
 * @throws RangeError for another country, and for a time before the first known rate
 */
export function standardRate(country: string, at: number): number {
  const day = new Date(at).toISOString().slice(0, 10)
  const rate = STANDARD_RATES[country]?.findLast(([from]) => from <= day)
  if (rate === undefined) throw new RangeError(`there is no rate of VAT for ${country} on ${day}`)
  return rate[1]
}
