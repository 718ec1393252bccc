package daemon

import (
	"fmt"
	"path/filepath"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/layer"
)

// openGateway makes the gateway to the providers of the settings. Their keys are read each
// time one is used, so that a new one needs no start.
func openGateway(settings *config.Settings, secret func(string) (string, bool), o gateway.Options) (*gateway.Gateway, error) {
	for name, p := range settings.Providers {
		prices := map[string]gateway.Price{}
		for model, price := range p.Prices {
			prices[model] = gateway.Price(price)
		}
		o.Providers = append(o.Providers, gateway.Provider{
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
	return gateway.New(o)
}

// heldBack says why users hold requests for models back; it is asked only once trials or mining are at work.
func (d *Daemon) heldBack(a gateway.Account, provider string) (why string, changed <-chan struct{}) {
	set, changed := d.rec.Desk.Holds()
	return set.Calls(clock.Now(), a.Spec, provider).String(), changed
}

// openModels makes what agents reach their models by, and the store of their programs.
func (d *Daemon) openModels(secret func(string) (string, bool)) (err error) {
	settings := d.opts.Settings
	if d.gateway, err = openGateway(settings, secret, gateway.Options{
		Ledger: ledger.NewUsageLedger(d.store), HeldBack: d.heldBack, Ended: d.modelEnded, Log: d.opts.Log,
	}); err != nil {
		return err
	}
	d.layers, err = layer.Open(filepath.Join(d.store.Dir(), "layers"), layer.Options{
		Registry: settings.Build.Mirrors["npm"], Proxy: settings.Build.Proxy, Log: d.opts.Log,
	})
	return err
}
