import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { Invoices } from './invoices.ts'
import { InvoiceList } from './list.ts'
import { InvoicePrinter } from './pdf/printer.ts'
import { InvoicePdfs } from './pdfs.ts'
import { BillingProfiles } from './profile.ts'
import { sellerOf } from './seller.ts'
import { Taxes } from './taxes.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly invoices: ReturnType<typeof composeInvoices>['services']['invoices']
  }
}

/** Builds the services of the domain. */
export function composeInvoices({ clock, config, database }: Foundation, { payments }: Pick<Services, 'payments'>) {
  const seller = sellerOf(config)
  const profiles = new BillingProfiles(database, clock)
  const issued = new Invoices(clock, seller, profiles, config.INVOICE_PREFIX)
  const printer = new InvoicePrinter(config.INVOICE_FONTS === undefined ? [] : [config.INVOICE_FONTS])
  return {
    services: {
      invoices: {
        issued,
        list: new InvoiceList(database, issued),
        pdfs: new InvoicePdfs(
          database,
          issued,
          printer,
          async (sql, id) => (await payments.transactions.find(sql, id))?.userId,
        ),
        profiles,
        taxes: new Taxes(seller, profiles),
      },
    },
    close: () => printer.close(),
  }
}
