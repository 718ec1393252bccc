package daemon

import (
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/layer"
)

// openGateway makes the gateway to the providers of the settings. Their keys are read each
// time one is used, so that a new one needs no start.
func openGateway(settings *config.Settings, secret func(string) (string, bool), s *store.Store, ended func(gateway.Ended), log *slog.Logger) (*gateway.Gateway, error) {
	var providers []gateway.Provider
	for name, p := range settings.Providers {
		prices := map[string]gateway.Price{}
		for model, price := range p.Prices {
			prices[model] = gateway.Price(price)
		}
		providers = append(providers, gateway.Provider{
			Name: name, Protocol: p.Protocol, BaseURL: p.BaseURL, Prices: prices, Proxy: p.Proxy,
			RequestsPerMinute: p.RequestsPerMinute, TokensPerMinute: p.TokensPerMinute, Concurrency: p.Concurrency,
			Key: func() (string, error) {
				key, ok := p.APIKey.Value(secret)
				if !ok {
					return "", fmt.Errorf("provider %q has no key", name)
				}
				return key, nil
			},
		})
	}
	return gateway.New(gateway.Options{Providers: providers, Ledger: ledger.NewUsageLedger(s), Ended: ended, Log: log})
}

// openModels makes what agents reach their models by, and the store of their programs.
func (d *Daemon) openModels(secret func(string) (string, bool)) (err error) {
	settings := d.opts.Settings
	if d.gateway, err = openGateway(settings, secret, d.store, d.modelEnded, d.opts.Log); err != nil {
		return err
	}
	d.layers, err = layer.Open(filepath.Join(d.store.Dir(), "layers"), layer.Options{
		Registry: settings.Build.Mirrors["npm"], Proxy: settings.Build.Proxy, Log: d.opts.Log,
	})
	return err
}
