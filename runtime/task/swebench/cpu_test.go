package swebench_test
import ("testing";"syscall";"fmt";"os";"strings";"encoding/json";"github.com/assayd/assayd/runtime/task/swebench";"github.com/assayd/assayd/runtime/task/sweforge";"github.com/assayd/assayd/runtime/task")
func cpu() float64 { var r syscall.Rusage; syscall.Getrusage(0,&r); return float64(r.Utime.Sec)+float64(r.Utime.Usec)/1e6+float64(r.Stime.Sec)+float64(r.Stime.Usec)/1e6 }
func TestCPU(t *testing.T){
	var b strings.Builder
	var names []string
	for i := range 200 { names = append(names, fmt.Sprintf("tests/test_calc.py::TestCalc::test_number_%03d[%d]", i, i)) }
	nn,_ := json.Marshal(names)
	for i:=range 2000 {
		r := with(classic(), map[string]any{"instance_id":fmt.Sprintf("acme__calc-%04d",i), "test_patch": tests+strings.Repeat("+a line of a test\n", 700),"patch": gold+strings.Repeat("+a line of a change\n", 200),"PASS_TO_PASS":string(nn),"problem_statement":strings.Repeat("what is wrong\n",150)})
		x,_:=json.Marshal(r); b.Write(x); b.WriteByte('\n')
	}
	f := write(t,"a.jsonl",b.String())
	t.Log("bytes",b.Len())
	c:=cpu(); d:=swebench.Read(f, options()); t.Log("classic jsonl cpu", cpu()-c, len(d.Tasks))
	dir:=t.TempDir()
	c=cpu(); _,err:=swebench.Write(dir,d.Tasks,nil); t.Log("write cpu",cpu()-c,err)
	for _,n:=range []string{"instances.jsonl","test.parquet","."} { s,_:=os.Stat(dir+"/"+n); c=cpu(); x:=swebench.Read(dir+"/"+n, task.ReadOptions{}); t.Log(n,s.Size(),"cpu",cpu()-c,len(x.Tasks)) }
	dir=t.TempDir()
	c=cpu(); pr,err:=sweforge.Write(dir,d.Tasks,nil); t.Log("sweforge write cpu",cpu()-c,err,len(pr))
	c=cpu(); x:=sweforge.Read(dir, task.ReadOptions{}); t.Log("sweforge read cpu",cpu()-c,len(x.Tasks))
}
